#include "ops/activation.h"

#include "in_f32.h"
#include "pointwise.h"

namespace assay {
namespace {

// The logistic function as MLAS, XNNPACK and Eigen approximate it: the error is absolute, for a tanh that is within some ulp.
template <class S>
S by_tanh(const S& x) {
  return S(0.5) * tanh(S(0.5) * x) + S(0.5);
}

const EnrolledReference activation_reference[] = {
    // NaN and -0 stay, as in ATen.
    EnrolledReference{pointwise<ops::relu>([]<class S>(S x) { return select(x < S(0), S(0), x); })},
    EnrolledReference{pointwise<ops::leaky_relu>(
        []<class S>(S x, S negative_slope) { return select(x > S(0), x, x * negative_slope); })},
    EnrolledReference{pointwise<ops::hardswish>(
        []<class S>(S x) {
          return rewritten(x * minimum(maximum(x + S(3), S(0)), S(6)) / S(6),
                           [&] { return x * minimum(maximum(x * param<S>(1.0 / 6) + S(0.5), S(0)), S(1)); });
        })},
    EnrolledReference{pointwise<ops::hardsigmoid>([]<class S>(S x) {
      return rewritten(minimum(maximum(x + S(3), S(0)), S(6)) / S(6),
                       [&] { return minimum(maximum(x * param<S>(1.0 / 6) + S(0.5), S(0)), S(1)); });
    })},
    // tanh(log(1 + e)) is n / (n + 2) for n = e (e + 2), and 1 for what is above 20 in every dtype but f64, above 40 in all.
    EnrolledReference{pointwise<ops::mish>([]<class S>(S x) {
      return either(x * tanh(log1p(exp(x))), [&] {
        const S e = exp(minimum(x, S(40))), n = e * (e + S(2));
        return x * (n / (n + S(2)));
      });
    })},
    EnrolledReference{pointwise<ops::sigmoid>([]<class S>(S x) {
      return rewritten(S(1) / (S(1) + exp(-x)), [&] { return by_tanh(x); });
    })},
    EnrolledReference{pointwise<ops::silu>([]<class S>(S x) {
      return rewritten(x / (S(1) + exp(-x)), [&] { return x * by_tanh(x); });
    })},
    EnrolledReference{pointwise<ops::tanh>([]<class S>(S x) { return tanh(x); })},
    EnrolledReference{pointwise<ops::tanh_backward>(
        []<class S>(S grad, S output) { return grad * (S(1) - output * output); })},
    EnrolledReference{pointwise<ops::softplus>([]<class S>(S x, S beta, S threshold) {
      return select(x * beta > threshold, x, log1p(exp(x * beta)) / beta);
    })},
    EnrolledReference{pointwise<ops::elu>([]<class S>(S x, S alpha, S scale, S input_scale) {
      return select(x <= S(0), alpha * scale * expm1(x * input_scale), scale * x);
    })},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong activation_wrong[] = {
    EnrolledWrong{pointwise_wrong<ops::relu>(
        "nan_as_zero", "gives max(x, 0) as a vector instruction has it: 0 for NaN",
        []<class S>(S x) { return select(x > S(0), x, S(0)); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::relu>(
                      "at_most_6", "gives min(max(x, 0), 6)",
                      []<class S>(S x) { return select(x < S(0), S(0), select(x > S(6), S(6), x)); })
                      .as_defined_by("ReLU6")},
    EnrolledWrong{pointwise_wrong<ops::leaky_relu>(
        "larger_product", "gives max(x, a x), which is the same for slopes up to 1",
        []<class S>(S x, S negative_slope) { return maximum(x, x * negative_slope); })},
    EnrolledWrong{pointwise_wrong<ops::hardswish>(
                      "by_a_fifth", "gives x min(max(0.2 x + 1/2, 0), 1)",
                      []<class S>(S x) { return x * minimum(maximum(x * S(0.2) + S(0.5), S(0)), S(1)); })
                      .as_defined_by("x HardSigmoid(x) by the defaults of ONNX and Keras 2")},
    EnrolledWrong{pointwise_wrong<ops::hardswish>(
                      "without_factor", "gives min(max(x + 3, 0), 6) / 6",
                      []<class S>(S x) { return minimum(maximum(x + S(3), S(0)), S(6)) / S(6); })
                      .as_defined_by("hardsigmoid")},
    EnrolledWrong{pointwise_wrong<ops::hardswish>(
        "without_upper_end", "gives x max(x + 3, 0) / 6, which goes on to rise above 3",
        []<class S>(S x) { return x * maximum(x + S(3), S(0)) / S(6); })},
    EnrolledWrong{pointwise_wrong<ops::hardswish>("swish", "gives x sigmoid(x)",
                                                  []<class S>(S x) { return x / (S(1) + exp(-x)); })},
    EnrolledWrong{pointwise_wrong<ops::sigmoid>(
                      "hard", "gives min(max(x / 6 + 1/2, 0), 1)",
                      []<class S>(S x) { return minimum(maximum(x / S(6) + S(0.5), S(0)), S(1)); })
                      .as_defined_by("hardsigmoid")},
    EnrolledWrong{pointwise_wrong<ops::sigmoid>(
                      "hard_by_a_fifth", "gives min(max(0.2 x + 1/2, 0), 1)",
                      []<class S>(S x) { return minimum(maximum(x * S(0.2) + S(0.5), S(0)), S(1)); })
                      .as_defined_by("HardSigmoid by the defaults of ONNX and Keras 2")},
    EnrolledWrong{pointwise_wrong<ops::silu>(
                      "hard", "gives x min(max(x + 3, 0), 6) / 6",
                      []<class S>(S x) { return x * minimum(maximum(x + S(3), S(0)), S(6)) / S(6); })
                      .as_defined_by("hardswish")},
    EnrolledWrong{pointwise_wrong<ops::silu>(
                      "gelu", "gives x (1 + erf(x / sqrt(2))) / 2",
                      []<class S>(S x) { return x * S(0.5) * (S(1) + erf(x * S(0.70710678118654752))); })
                      .as_defined_by("gelu")},
    EnrolledWrong{
        pointwise_wrong<ops::silu>(
            "mish", "gives x tanh(log(1 + exp(x)))",
            []<class S>(S x) { return x * tanh(select(x > S(40), x, log1p(exp(minimum(x, S(40)))))); })
            .as_defined_by("mish")},
    EnrolledWrong{pointwise_wrong<ops::silu>("steeper", "gives x sigmoid(1.702 x)",
                                             []<class S>(S x) { return x / (S(1) + exp(S(-1.702) * x)); })},
    EnrolledWrong{pointwise_wrong<ops::tanh>("rational", "gives x (27 + x^2) / (27 + 9 x^2) between -3 and 3",
                                             []<class S>(S self) {
                                               const S x = minimum(maximum(self, S(-3)), S(3));
                                               return x * (S(27) + x * x) / (S(27) + S(9) * x * x);
                                             })},
    EnrolledWrong{pointwise_wrong<ops::tanh_backward>(
        "not_squared", "gives grad (1 - output)",
        []<class S>(S grad, S output) { return grad * (S(1) - output); })},
    EnrolledWrong{pointwise_wrong<ops::tanh_backward>(
        "of_input", "takes output for the input, of which it takes tanh again",
        []<class S>(S grad, S output) {
          const S t = tanh(output);
          return grad * (S(1) - t * t);
        })},
    EnrolledWrong{pointwise_wrong<ops::tanh>("clipped", "gives min(max(x, -1), 1)",
                                             []<class S>(S x) { return minimum(maximum(x, S(-1)), S(1)); })
                      .as_defined_by("hardtanh")},
    EnrolledWrong{pointwise_wrong<ops::softplus>("not_divided", "does not divide by beta",
                                                 []<class S>(S x, S beta, S threshold) {
                                                   return select(x * beta > threshold, x,
                                                                 log1p(exp(x * beta)));
                                                 })},
    EnrolledWrong{
        pointwise_wrong<ops::softplus>("threshold_of_input", "compares x, and not beta x, with the threshold",
                                       []<class S>(S x, S beta, S threshold) {
                                         return select(x > threshold, x, log1p(exp(x * beta)) / beta);
                                       })},
    EnrolledWrong{pointwise_wrong<ops::elu>(
        "one_not_multiplied", "gives alpha exp(x) - 1 below 0",
        []<class S>(S x, S alpha, S scale, S input_scale) {
          return select(x <= S(0), scale * (alpha * exp(x * input_scale) - S(1)), scale * x);
        })},
    EnrolledWrong{pointwise_wrong<ops::elu>(
                      "continuous", "gives alpha (exp(x / alpha) - 1) below 0",
                      []<class S>(S x, S alpha, S scale, S input_scale) {
                        return select(x <= S(0), alpha * scale * expm1(x * input_scale / alpha), scale * x);
                      })
                      .as_defined_by("celu")},
    EnrolledWrong{pointwise_wrong<ops::elu>("selu", "gives 1.0507 x above 0, and 1.7581 (exp(x) - 1) below",
                                            []<class S>(S x, S, S, S) {
                                              const S scale = S(1.0507009873554804934193349852946);
                                              const S alpha = S(1.6732632423543772848170429916717);
                                              return select(x <= S(0), alpha * scale * expm1(x), scale * x);
                                            })
                      .as_defined_by("selu")},
    EnrolledWrong{pointwise_wrong<ops::elu>("scale_on_one_side", "leaves scale out below 0",
                                            []<class S>(S x, S alpha, S scale, S input_scale) {
                                              return select(x <= S(0), alpha * expm1(x * input_scale),
                                                            scale * x);
                                            })},
    // Right in the mathematics, and not in f32.
    EnrolledWrong{pointwise_wrong<ops::sigmoid>(
        "overflows", "gives exp(x) / (1 + exp(x)), which is NaN where exp(x) is too large for f32",
        []<class S>(S x) {
          const S e = in_f32(exp(x));
          return e / (S(1) + e);
        },
        kComputedInF32)},
    EnrolledWrong{pointwise_wrong<ops::silu>(
        "overflows", "gives x exp(x) / (1 + exp(x)), which is NaN where exp(x) is too large for f32",
        []<class S>(S x) {
          const S e = in_f32(exp(x));
          return x * (e / (S(1) + e));
        },
        kComputedInF32)},
    EnrolledWrong{pointwise_wrong<ops::tanh>(
        "overflows",
        "gives (exp(2 x) - 1) / (exp(2 x) + 1), which is NaN where exp(2 x) is too large for f32",
        []<class S>(S x) {
          const S e = in_f32(exp(S(2) * x));
          return in_f32(e - S(1)) / in_f32(e + S(1));
        },
        kComputedInF32)},
    EnrolledWrong{pointwise_wrong<ops::tanh>(
        "cancels", "gives 2 / (1 + exp(-2 x)) - 1, in f32: next to 0 little is left of x",
        []<class S>(S x) { return in_f32(S(2) / in_f32(S(1) + in_f32(exp(S(-2) * x)))) - S(1); },
        only(Dtype::f32))},
    EnrolledWrong{pointwise_wrong<ops::softplus>(
        "without_threshold", "has no threshold: infinite where exp(beta x) is too large for f32",
        []<class S>(S x, S beta, S) { return in_f32(log1p(in_f32(exp(x * beta)))) / beta; }, kComputedInF32)},
    EnrolledWrong{pointwise_wrong<ops::softplus>(
        "without_log1p", "takes the logarithm of 1 + exp(beta x) in f32, which is 0 where that is 1",
        []<class S>(S x, S beta, S threshold) {
          return select(x * beta > threshold, x, log(in_f32(S(1) + in_f32(exp(x * beta)))) / beta);
        },
        only(Dtype::f32) | only(Dtype::bf16))},
    EnrolledWrong{pointwise_wrong<ops::softplus>(
        "plain", "takes the logarithm of 1 + exp(beta x) in f32, without a threshold",
        []<class S>(S x, S beta, S) { return log(in_f32(S(1) + in_f32(exp(x * beta)))) / beta; },
        kComputedInF32)},
    EnrolledWrong{pointwise_wrong<ops::elu>(
        "without_expm1", "takes 1 away from exp(x) in f32: next to 0 little is left",
        []<class S>(S x, S alpha, S scale, S input_scale) {
          return select(x <= S(0), alpha * scale * in_f32(in_f32(exp(x * input_scale)) - S(1)), scale * x);
        },
        only(Dtype::f32) | only(Dtype::bf16))},
    EnrolledWrong{pointwise_wrong<ops::hardsigmoid>(
                      "by_a_fifth", "gives min(max(0.2 x + 1/2, 0), 1)",
                      []<class S>(S x) { return minimum(maximum(x * S(0.2) + S(0.5), S(0)), S(1)); })
                      .as_defined_by("HardSigmoid by the defaults of ONNX and Keras 2")},
    EnrolledWrong{pointwise_wrong<ops::hardsigmoid>("sigmoid", "gives 1 / (1 + exp(-x))",
                                                    []<class S>(S x) { return S(1) / (S(1) + exp(-x)); })
                      .as_defined_by("sigmoid")},
    EnrolledWrong{pointwise_wrong<ops::hardsigmoid>(
        "not_divided", "gives min(max(x + 3, 0), 6)",
        []<class S>(S x) { return minimum(maximum(x + S(3), S(0)), S(6)); })},
    EnrolledWrong{pointwise_wrong<ops::hardsigmoid>(
                      "times_x", "gives x min(max(x + 3, 0), 6) / 6",
                      []<class S>(S x) { return x * minimum(maximum(x + S(3), S(0)), S(6)) / S(6); })
                      .as_defined_by("hardswish")},
    EnrolledWrong{pointwise_wrong<ops::mish>("silu", "gives x sigmoid(x)",
                                             []<class S>(S x) { return x / (S(1) + exp(-x)); })
                      .as_defined_by("silu")},
    EnrolledWrong{
        pointwise_wrong<ops::mish>("tanh", "gives x tanh(x)", []<class S>(S x) { return x * tanh(x); })},
    EnrolledWrong{pointwise_wrong<ops::mish>("softplus", "gives x log(1 + exp(x)), without tanh",
                                             []<class S>(S x) { return x * log1p(exp(minimum(x, S(80)))); })},
    EnrolledWrong{pointwise_wrong<ops::mish>(
        "overflows",
        "gives x n / (n + 2) for n = exp(x) (exp(x) + 2), which is NaN where n is too large for f32",
        []<class S>(S x) {
          const S e = in_f32(exp(x)), n = in_f32(e * (e + S(2)));
          return x * (n / in_f32(n + S(2)));
        },
        kComputedInF32)},
    EnrolledWrong{pointwise_wrong<ops::mish>(
        "without_log1p", "takes the logarithm of 1 + exp(x) in f32, which is 0 where that is 1",
        []<class S>(S x) { return x * tanh(log(in_f32(S(1) + in_f32(exp(minimum(x, S(80))))))); },
        only(Dtype::f32) | only(Dtype::bf16))},
};

}  // namespace
}  // namespace assay

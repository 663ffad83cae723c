#include "ops/activation.h"

#include "pointwise.h"

namespace assay {
namespace {

const EnrolledReference activation_reference[] = {
    // NaN and -0 stay, as in ATen.
    EnrolledReference{pointwise<ops::relu>([]<class S>(S x) { return select(x < S(0), S(0), x); })},
    EnrolledReference{pointwise<ops::leaky_relu>(
        []<class S>(S x, S negative_slope) { return select(x > S(0), x, x * negative_slope); })},
    EnrolledReference{pointwise<ops::hardswish>(
        []<class S>(S x) { return x * minimum(maximum(x + S(3), S(0)), S(6)) / S(6); })},
    EnrolledReference{pointwise<ops::sigmoid>([]<class S>(S x) { return S(1) / (S(1) + exp(-x)); })},
    EnrolledReference{pointwise<ops::silu>([]<class S>(S x) { return x / (S(1) + exp(-x)); })},
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
        "nan_as_zero", "max(x, 0) as a vector instruction has it: 0 for NaN",
        []<class S>(S x) { return select(x > S(0), x, S(0)); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::leaky_relu>(
        "larger_product", "max(x, a x), which is the same for slopes up to 1",
        []<class S>(S x, S negative_slope) { return maximum(x, x * negative_slope); })},
    EnrolledWrong{pointwise_wrong<ops::hardswish>("swish", "x sigmoid(x)",
                                                  []<class S>(S x) { return x / (S(1) + exp(-x)); })},
    EnrolledWrong{pointwise_wrong<ops::sigmoid>(
        "hard", "min(max(x / 6 + 1/2, 0), 1)",
        []<class S>(S x) { return minimum(maximum(x / S(6) + S(0.5), S(0)), S(1)); })},
    EnrolledWrong{pointwise_wrong<ops::silu>("steeper", "x sigmoid(1.702 x)",
                                             []<class S>(S x) { return x / (S(1) + exp(S(-1.702) * x)); })},
    EnrolledWrong{pointwise_wrong<ops::tanh>("rational", "x (27 + x^2) / (27 + 9 x^2) between -3 and 3",
                                             []<class S>(S self) {
                                               const S x = minimum(maximum(self, S(-3)), S(3));
                                               return x * (S(27) + x * x) / (S(27) + S(9) * x * x);
                                             })},
    EnrolledWrong{pointwise_wrong<ops::tanh_backward>(
        "not_squared", "grad (1 - output)",
        []<class S>(S grad, S output) { return grad * (S(1) - output); })},
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
    EnrolledWrong{pointwise_wrong<ops::elu>("scale_on_one_side", "leaves scale out below 0",
                                            []<class S>(S x, S alpha, S scale, S input_scale) {
                                              return select(x <= S(0), alpha * expm1(x * input_scale),
                                                            scale * x);
                                            })},
};

}  // namespace
}  // namespace assay

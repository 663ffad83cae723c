#include "ops/exact.h"

#include "pointwise.h"

namespace assay {
namespace {

template <class S>
S ceiling(S x) {
  if constexpr (std::is_same_v<S, Integer>)
    return x;
  else
    return -floor(-x);
}
template <class S>
S signum(S x) {
  return select(x > S(0), S(1), select(x < S(0), S(-1), S(0)));
}

const EnrolledReference exact_reference[] = {
    EnrolledReference{pointwise<ops::abs>([]<class S>(S x) { return abs(x); })},
    EnrolledReference{pointwise<ops::neg>([]<class S>(S x) { return -x; })},
    EnrolledReference{pointwise<ops::sign>([]<class S>(S x) { return signum(x); })},
    EnrolledReference{pointwise<ops::floor>([]<class S>(S x) { return floor(x); })},
    EnrolledReference{pointwise<ops::ceil>([]<class S>(S x) { return ceiling(x); })},
    EnrolledReference{pointwise<ops::trunc>([]<class S>(S x) { return trunc(x); })},
    EnrolledReference{pointwise<ops::round>([]<class S>(S x) { return rint(x); })},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong exact_wrong[] = {
    EnrolledWrong{pointwise_wrong<ops::abs>(
        "by_compare", "gives x < 0 ? -x : x, which keeps -0",
        []<class S>(S x) { return select(x < S(0), -x, x); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::abs>(
        "saturated", "gives the largest integer for the least one, and does not wrap",
        []<class S>(S x) { return select(abs(x) < S(0), -(abs(x) + S(1)), abs(x)); }, only(Dtype::i64))},
    EnrolledWrong{pointwise_wrong<ops::neg>(
        "from_zero", "gives 0 - x, which is 0 for 0, and not -0", []<class S>(S x) { return S(0) - x; },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::sign>(
                      "nan_kept", "gives NaN for NaN",
                      []<class S>(S x) { return select(is_nan(x), x, signum(x)); }, kFloatingPoint)
                      .as_defined_by("NumPy and ONNX")},
    EnrolledWrong{pointwise_wrong<ops::sign>("of_its_bit", "gives the sign of the sign bit: 1 for 0",
                                             []<class S>(S x) { return select(x < S(0), S(-1), S(1)); })},
    EnrolledWrong{pointwise_wrong<ops::sign>(
        "never_negative", "gives 1 for all numbers but 0",
        []<class S>(S x) { return select(x == S(0), S(0), select(is_nan(x), S(0), S(1))); })},
    EnrolledWrong{pointwise_wrong<ops::floor>(
        "truncated", "rounds towards 0, as a conversion to integers does",
        []<class S>(S x) { return trunc(x); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::floor>(
        "as_i32", "converts to i32 and back: beyond 2^31 nothing is left",
        []<class S>(S x) { return select(abs(x) < S(2147483648.0), floor(x), S(-2147483648.0)); },
        only(Dtype::f64) | only(Dtype::f32) | only(Dtype::bf16))},
    EnrolledWrong{pointwise_wrong<ops::floor>(
        "plus_half", "gives floor(x + 1/2), as a rounding", []<class S>(S x) { return floor(x + S(0.5)); },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::ceil>(
        "floor_plus_one", "gives floor(x) + 1, also of integers",
        []<class S>(S x) { return floor(x) + S(1); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::ceil>(
        "zero_lost", "gives 0 between -1 and 0, and not -0",
        []<class S>(S x) { return select(x <= S(-1), -floor(-x), select(x < S(0), S(0), -floor(-x))); },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::trunc>(
        "floor", "rounds down, negative numbers too", []<class S>(S x) { return floor(x); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::trunc>(
        "zero_lost", "gives 0 between -1 and 0, and not -0",
        []<class S>(S x) { return select(x <= S(-1), trunc(x), select(x < S(0), S(0), trunc(x))); },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::round>(
                      "away", "rounds halves away from 0, as C's round and ggml do",
                      []<class S>(S x) { return select(x < S(0), -floor(-x + S(0.5)), floor(x + S(0.5))); },
                      only(Dtype::f64) | only(Dtype::f32))
                      .as_defined_by("C's round")},
    EnrolledWrong{pointwise_wrong<ops::round>(
        "up", "gives floor(x + 1/2): halves go up", []<class S>(S x) { return floor(x + S(0.5)); },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::round>(
        "truncated", "cuts the fraction off", []<class S>(S x) { return trunc(x); }, kFloatingPoint)},
};

}  // namespace
}  // namespace assay

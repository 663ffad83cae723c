#include "ops/functions_of_two.h"

#include "pointwise.h"

namespace assay {
namespace {

template <class S>
S by_logarithm(S x, S y) {
  if constexpr (std::is_same_v<S, Integer>)
    return pow(x, y);
  else
    return select(y == S(0), S(1), exp(y * log(x)));
}

const EnrolledReference functions_of_two_reference[] = {
    EnrolledReference{pointwise<ops::pow_tensor_tensor>([]<class S>(S x, S y) { return pow(x, y); })},
    EnrolledReference{pointwise<ops::pow_tensor_scalar>([]<class S>(S x, S y) { return pow(x, y); })},
    EnrolledReference{pointwise<ops::pow_scalar>([]<class S>(S x, S y) { return pow(x, y); })},
    EnrolledReference{pointwise<ops::atan2>([]<class S>(S x, S y) { return atan2(x, y); })},
    EnrolledReference{pointwise<ops::xlogy_tensor>(
        []<class S>(S x, S y) { return select(is_nan(y), y, select(x == S(0), S(0), x * log(y))); })},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong functions_of_two_wrong[] = {
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_tensor>(
        "of_logarithm", "gives exp(y log(x)), which is NaN for every negative x",
        []<class S>(S x, S y) { return by_logarithm(x, y); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_tensor>(
        "of_absolute_value", "gives |x|^y", []<class S>(S x, S y) { return pow(abs(x), y); },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_tensor>(
        "exponent_cut_off", "cuts the exponent to an integer",
        []<class S>(S x, S y) { return pow(x, trunc(y)); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_scalar>(
        "of_logarithm", "gives exp(y log(x)), which is NaN for every negative x",
        []<class S>(S x, S y) { return by_logarithm(x, y); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_scalar>(
        "of_absolute_value", "gives |x|^y", []<class S>(S x, S y) { return pow(abs(x), y); },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_scalar>(
        "exponent_cut_off", "cuts the exponent to an integer",
        []<class S>(S x, S y) { return pow(x, trunc(y)); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_scalar>("square", "gives x^2 whatever the exponent",
                                                          []<class S>(S x, S) { return x * x; })},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_scalar>(
                      "root", "gives sqrt(x) for x^(1/2): NaN for -infinity, and -0 for -0",
                      []<class S>(S x, S y) { return select(y == S(0.5), sqrt(x), pow(x, y)); })
                      .looked_for_only()},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_tensor>(
        "nan_wins", "gives NaN wherever an operand is: x^0 and 1^y, too",
        []<class S>(S x, S y) { return select(is_nan(x), x, select(is_nan(y), y, pow(x, y))); },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::pow_tensor_tensor>("swapped", "gives y^x",
                                                          []<class S>(S x, S y) { return pow(y, x); })},
    EnrolledWrong{pointwise_wrong<ops::pow_scalar>("swapped", "gives the tensor to the power of the number",
                                                   []<class S>(S x, S y) { return pow(y, x); })},
    EnrolledWrong{pointwise_wrong<ops::pow_scalar>("of_absolute_value", "gives |x|^y",
                                                   []<class S>(S x, S y) { return pow(abs(x), y); })},
    EnrolledWrong{pointwise_wrong<ops::atan2>("atan", "gives atan(x / y), which knows two quadrants",
                                              []<class S>(S x, S y) { return atan(x / y); })},
    EnrolledWrong{pointwise_wrong<ops::atan2>("swapped", "takes the two numbers in the opposite order",
                                              []<class S>(S x, S y) { return atan2(y, x); })},
    EnrolledWrong{pointwise_wrong<ops::atan2>(
        "zero_lost", "gives 0 for two zeros, whatever their signs",
        []<class S>(S x, S y) { return select(x == S(0) && y == S(0), S(0), atan2(x, y)); })},
    EnrolledWrong{pointwise_wrong<ops::xlogy_tensor>("plain", "gives x log(y), which is NaN for 0 and 0",
                                                     []<class S>(S x, S y) { return x * log(y); })},
    EnrolledWrong{pointwise_wrong<ops::xlogy_tensor>(
        "nan_lost", "gives 0 wherever x is 0, also where y is NaN",
        []<class S>(S x, S y) { return select(x == S(0), S(0), x * log(y)); })},
    EnrolledWrong{pointwise_wrong<ops::xlogy_tensor>("log1p", "gives x log(1 + y)",
                                                     []<class S>(S x, S y) {
                                                       return select(is_nan(y), y,
                                                                     select(x == S(0), S(0), x * log1p(y)));
                                                     })
                      .as_defined_by("xlog1py")},
};

}  // namespace
}  // namespace assay

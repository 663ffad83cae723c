#include "ops/functions.h"

#include "pointwise.h"

namespace assay {
namespace {

const EnrolledReference functions_reference[] = {
    EnrolledReference{pointwise<ops::exp>([]<class S>(S x) { return exp(x); })},
    EnrolledReference{pointwise<ops::log>([]<class S>(S x) { return log(x); })},
    EnrolledReference{pointwise<ops::sqrt>([]<class S>(S x) { return sqrt(x); })},
    EnrolledReference{pointwise<ops::rsqrt>([]<class S>(S x) { return S(1) / sqrt(x); })},
    EnrolledReference{pointwise<ops::erf>([]<class S>(S x) { return erf(x); })},
    EnrolledReference{pointwise<ops::acos>([]<class S>(S x) { return acos(x); })},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

constexpr DtypeSet kLong = only(Dtype::f64) | only(Dtype::f32);

const EnrolledWrong functions_wrong[] = {
    EnrolledWrong{
        pointwise_wrong<ops::log>("clipped", "takes the logarithm of 1e-12 at least",
                                  []<class S>(S x) { return log(select(x < S(1e-12), S(1e-12), x)); })},
    EnrolledWrong{pointwise_wrong<ops::log>("base_2", "takes the logarithm to base 2",
                                            []<class S>(S x) { return log(x) * S(1.4426950408889634074); })},
    EnrolledWrong{pointwise_wrong<ops::log>("base_10", "takes the logarithm to base 10",
                                            []<class S>(S x) { return log(x) * S(0.43429448190325182765); })},
    EnrolledWrong{pointwise_wrong<ops::exp>("base_2", "gives 2^x",
                                            []<class S>(S x) { return exp(x * S(0.69314718055994530942)); })},
    EnrolledWrong{
        pointwise_wrong<ops::exp>("less_one", "gives exp(x) - 1", []<class S>(S x) { return expm1(x); })},
    EnrolledWrong{pointwise_wrong<ops::erf>("complementary", "gives 1 - erf(x), as erfc does",
                                            []<class S>(S x) { return S(1) - erf(x); })},
    EnrolledWrong{pointwise_wrong<ops::sqrt>("of_absolute_value", "takes the root of |x|",
                                             []<class S>(S x) { return sqrt(abs(x)); })},
    EnrolledWrong{pointwise_wrong<ops::rsqrt>("with_epsilon", "adds 1e-6, so that nothing is divided by 0",
                                              []<class S>(S x) { return S(1) / sqrt(x + S(1e-6)); })},
    // Abramowitz and Stegun 7.1.25: wrong by up to 2.5e-5.
    EnrolledWrong{pointwise_wrong<ops::erf>(
        "three_terms", "is approximated with three terms",
        []<class S>(S self) {
          const S x = abs(self), t = S(1) / (S(1) + S(0.47047) * x);
          const S y = S(1) - t * (S(0.3480242) - t * (S(0.0958798) - t * S(0.7478556))) * exp(-x * x);
          return select(self < S(0), -y, y);
        },
        kLong)},
    // Abramowitz and Stegun 4.4.45: wrong by up to 6.8e-5.
    EnrolledWrong{pointwise_wrong<ops::acos>(
        "four_terms", "is approximated with four terms",
        []<class S>(S self) {
          const S x = abs(self);
          const S y =
              sqrt(S(1) - x) * (S(1.5707288) + x * (S(-0.2121144) + x * (S(0.0742610) - x * S(0.0187293))));
          return select(self < S(0), S(3.14159265358979324) - y, y);
        },
        kLong)},
};

}  // namespace
}  // namespace assay

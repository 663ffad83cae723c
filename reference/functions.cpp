#include "ops/functions.h"

#include "in_f32.h"
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
    EnrolledReference{pointwise<ops::sin>([]<class S>(S x) { return sin(x); })},
    EnrolledReference{pointwise<ops::cos>([]<class S>(S x) { return cos(x); })},
    EnrolledReference{pointwise<ops::asin>([]<class S>(S x) { return asin(x); })},
    EnrolledReference{pointwise<ops::atan>([]<class S>(S x) { return atan(x); })},
    EnrolledReference{pointwise<ops::exp2>([]<class S>(S x) { return exp2(x); })},
    EnrolledReference{pointwise<ops::expm1>([]<class S>(S x) { return expm1(x); })},
    EnrolledReference{pointwise<ops::log2>([]<class S>(S x) { return log2(x); })},
    EnrolledReference{pointwise<ops::log1p>([]<class S>(S x) { return log1p(x); })},
    EnrolledReference{pointwise<ops::reciprocal>([]<class S>(S x) { return S(1) / x; })},
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
    EnrolledWrong{pointwise_wrong<ops::reciprocal>("never_infinite", "gives 0 for 0", []<class S>(S x) { return select(x == S(0), S(0), S(1) / x); })},
    EnrolledWrong{pointwise_wrong<ops::reciprocal>("with_epsilon", "adds 1e-6, so that nothing is divided by 0", []<class S>(S x) { return S(1) / (x + S(1e-6)); }, only(Dtype::f64) | only(Dtype::f32))},
    EnrolledWrong{pointwise_wrong<ops::sin>("degrees", "takes degrees", []<class S>(S x) { return sin(x * S(0.017453292519943295769)); })},
    EnrolledWrong{pointwise_wrong<ops::sin>("short_reduction", "takes 2 pi away as f32 knows it, so that large arguments lose all digits", []<class S>(S x) { const S n = rint(in_f32(x * S(0.15915494309189533577))); return sin(in_f32(x - in_f32(n * S(6.2831854820251465)))); }, only(Dtype::f32))},
    EnrolledWrong{pointwise_wrong<ops::sin>("far_as_zero", "gives 0 beyond 2^20", []<class S>(S x) { return select(abs(x) > S(1048576), S(0), sin(x)); }, only(Dtype::f64) | only(Dtype::f32) | only(Dtype::bf16))},
    EnrolledWrong{pointwise_wrong<ops::sin>("straight", "gives x - x^3 / 6", []<class S>(S x) { return x - x * x * x / S(6); })},
    EnrolledWrong{pointwise_wrong<ops::cos>("of_shifted", "gives sin(x + pi/2) in f32, which is off near the roots", []<class S>(S x) { return sin(in_f32(x + S(1.5707963267948966192))); }, only(Dtype::f32))},
    EnrolledWrong{pointwise_wrong<ops::cos>("degrees", "takes degrees", []<class S>(S x) { return cos(x * S(0.017453292519943295769)); })},
    EnrolledWrong{pointwise_wrong<ops::asin>("clipped", "brings x between -1 and 1 first, so that nothing is NaN", []<class S>(S x) { return asin(minimum(maximum(x, S(-1)), S(1))); })},
    EnrolledWrong{pointwise_wrong<ops::asin>("acos", "gives acos(x)", []<class S>(S x) { return acos(x); }).as_defined_by("acos")},
    EnrolledWrong{pointwise_wrong<ops::atan>("without_reduction", "gives x - x^3 / 3 + x^5 / 5", []<class S>(S x) { const S z = x * x; return x - x * z / S(3) + x * z * z / S(5); })},
    EnrolledWrong{pointwise_wrong<ops::atan>("degrees", "gives degrees", []<class S>(S x) { return atan(x) * S(57.295779513082320877); })},
    EnrolledWrong{pointwise_wrong<ops::exp2>("base_e", "gives e^x", []<class S>(S x) { return exp(x); }).as_defined_by("exp")},
    EnrolledWrong{pointwise_wrong<ops::exp2>("by_exp", "gives exp(x ln 2), the product rounded to f32", []<class S>(S x) { return exp(in_f32(x * S(0.69314718055994530942))); }, only(Dtype::f32))},
    EnrolledWrong{pointwise_wrong<ops::expm1>("exp", "gives exp(x)", []<class S>(S x) { return exp(x); }).as_defined_by("exp")},
    EnrolledWrong{pointwise_wrong<ops::expm1>("cancels", "takes 1 away from exp(x) in f32: next to 0 little is left", []<class S>(S x) { return in_f32(exp(x)) - S(1); }, only(Dtype::f32) | only(Dtype::bf16))},
    EnrolledWrong{pointwise_wrong<ops::log2>("base_e", "takes the natural logarithm", []<class S>(S x) { return log(x); }).as_defined_by("log")},
    EnrolledWrong{pointwise_wrong<ops::log2>("base_10", "takes the logarithm to base 10", []<class S>(S x) { return log(x) * S(0.43429448190325182765); })},
    EnrolledWrong{pointwise_wrong<ops::log2>("clipped", "takes the logarithm of 1e-12 at least", []<class S>(S x) { return log2(select(x < S(1e-12), S(1e-12), x)); })},
    EnrolledWrong{pointwise_wrong<ops::log1p>("log", "takes the logarithm of x itself", []<class S>(S x) { return log(x); }).as_defined_by("log")},
    EnrolledWrong{pointwise_wrong<ops::log1p>("of_rounded_sum", "takes the logarithm of 1 + x in f32, which is 0 where that is 1", []<class S>(S x) { return log(in_f32(S(1) + x)); }, only(Dtype::f32) | only(Dtype::bf16))},
};

}  // namespace
}  // namespace assay

#include "ops/binary.h"

#include "in_f32.h"
#include "pointwise.h"

namespace assay {
namespace {

// The quotient as an integer, as ATen has it.
struct RoundedQuotient {
  template <class S>
  S operator()(S x, S y, std::optional<std::string_view> rounding_mode) const {
    const S quotient = x / y;
    if constexpr (std::is_same_v<S, Integer>) {
      return *rounding_mode == "trunc" ? quotient : floor_quotient(x, y);
    } else {
      if (!rounding_mode) return quotient;
      if (*rounding_mode == "trunc") return trunc(quotient);
      const S infinity(INFINITY), zero(0);
      const S beside_infinity =
          select(x < zero, select(y > zero, S(-1), floor(quotient)),
                 select(x > zero, select(y < zero, S(-1), floor(quotient)), floor(quotient)));
      const S finite = select(abs(y) == infinity, beside_infinity, floor(quotient));
      return select(y == zero, quotient, select(abs(x) == infinity, S(NAN), finite));
    }
  }
};

const EnrolledReference binary_reference[] = {
    EnrolledReference{pointwise<ops::add_tensor>([]<class S>(S x, S y, S alpha) { return x + alpha * y; })},
    EnrolledReference{pointwise<ops::sub_tensor>([]<class S>(S x, S y, S alpha) { return x - alpha * y; })},
    EnrolledReference{pointwise<ops::mul_tensor>([]<class S>(S x, S y) { return x * y; })},
    EnrolledReference{pointwise<ops::div_tensor>([]<class S>(S x, S y) { return x / y; })},
    EnrolledReference{pointwise<ops::div_tensor_mode>(RoundedQuotient{})},
    EnrolledReference{pointwise<ops::maximum>([]<class S>(S x, S y) { return maximum(x, y); })},
    EnrolledReference{pointwise<ops::minimum>([]<class S>(S x, S y) { return minimum(x, y); })},
    EnrolledReference{pointwise<ops::fmod_tensor>([]<class S>(S x, S y) { return fmod(x, y); })},
    EnrolledReference{pointwise<ops::remainder_tensor>([]<class S>(S x, S y) {
      const S r = fmod(x, y);
      return select((r < S(0) && y > S(0)) || (r > S(0) && y < S(0)), r + y, r);
    })},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong binary_wrong[] = {
    EnrolledWrong{pointwise_wrong<ops::maximum>(
        "nan_ignored", "gives the number beside NaN, as fmax does",
        []<class S>(S x, S y) { return select(is_nan(x) || y > x, y, x); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::maximum>(
        "larger_magnitude", "gives the number of the larger magnitude",
        []<class S>(S x, S y) {
          const S a = select(x < S(0), S(0) - x, x), b = select(y < S(0), S(0) - y, y);
          return select(is_nan(x), x, select(is_nan(y), y, select(a > b, x, y)));
        },
        kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::maximum>(
        "smaller", "gives the smaller of two numbers, as minimum does",
        []<class S>(S x, S y) { return select(is_nan(x), x, select(is_nan(y), y, select(y < x, y, x))); })},
    EnrolledWrong{pointwise_wrong<ops::minimum>(
        "nan_ignored", "gives the number beside NaN, as fmin does",
        []<class S>(S x, S y) { return select(is_nan(x) || y < x, y, x); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::minimum>(
        "second_of_nan", "gives the second one where either is NaN, as MINPS does",
        []<class S>(S x, S y) { return select(x < y, x, y); }, kFloatingPoint)},
    EnrolledWrong{pointwise_wrong<ops::minimum>(
        "larger", "gives the larger of two numbers, as maximum does",
        []<class S>(S x, S y) { return select(is_nan(x), x, select(is_nan(y), y, select(y > x, y, x))); })},
    EnrolledWrong{pointwise_wrong<ops::fmod_tensor>(
                      "remainder", "gives what has the sign of the divisor, as Python does",
                      []<class S>(S x, S y) {
                        const S r = fmod(x, y);
                        return select((r < S(0) && y > S(0)) || (r > S(0) && y < S(0)), r + y, r);
                      })
                      .as_defined_by("remainder")},
    EnrolledWrong{pointwise_wrong<ops::fmod_tensor>(
        "of_rounded_quotient", "gives x - trunc(x / y) y in f32, which is off where the quotient is large",
        []<class S>(S x, S y) { return in_f32(x - in_f32(trunc(in_f32(x / y)) * y)); }, only(Dtype::f32))},
    EnrolledWrong{pointwise_wrong<ops::fmod_tensor>(
                      "nearest", "takes the nearest multiple away, as IEEE 754's remainder",
                      []<class S>(S x, S y) { return x - rint(x / y) * y; },
                      only(Dtype::f64) | only(Dtype::f32))
                      .as_defined_by("IEEE 754")},
    EnrolledWrong{pointwise_wrong<ops::remainder_tensor>("fmod",
                                                         "gives what has the sign of the dividend, as C does",
                                                         []<class S>(S x, S y) { return fmod(x, y); })
                      .as_defined_by("fmod")},
    EnrolledWrong{pointwise_wrong<ops::remainder_tensor>(
        "of_rounded_quotient", "gives x - floor(x / y) y in f32, which is off where the quotient is large",
        []<class S>(S x, S y) { return in_f32(x - in_f32(floor(in_f32(x / y)) * y)); }, only(Dtype::f32))},
    EnrolledWrong{
        pointwise_wrong<ops::remainder_tensor>(
            "never_negative", "adds |y| to what is negative, as Euclid's division does",
            []<class S>(S x, S y) {
              const S r = fmod(x, y);
              return select(r < S(0), r + select(y < S(0), -y, y), r);
            },
            kFloatingPoint | only(Dtype::i64) | only(Dtype::i32) | only(Dtype::i16) | only(Dtype::i8))
            .as_defined_by("Euclid")},
};

}  // namespace
}  // namespace assay

#include "ops/binary.h"

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
        []<class S>(S x, S y) { return select(is_nan(x), x, select(is_nan(y), y, select(y < x, y, x))); })}};

}  // namespace
}  // namespace assay

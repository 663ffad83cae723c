#include "ops/div.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Div {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, const Index& i) const {
    return self[i] / other[i];
  }
};

struct DivMode {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, std::optional<std::string_view> rounding_mode,
               const Index& i) const {
    const S x = self[i], y = other[i], quotient = x / y;
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

const EnrolledReference div_reference[] = {EnrolledReference{reference<ops::div_tensor, Div>()},
                                           EnrolledReference{reference<ops::div_tensor_mode, DivMode>()}};

}  // namespace
}  // namespace assay

// Functions of two numbers: elementary_*.h over any layout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/functions_of_two.cpp"
#include "levels.h"

#include "../geometry/wrap.h"
#include "elementary_angles.h"
#include "elementary_log.h"
#include "elementary_powers.h"
#include "elementwise.h"
#include "ops/functions_of_two.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Pow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V exponent) const {
    return pow(d, self, exponent);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t exponent) const {
    return wrapping_power(self, exponent);
  }
};

// The square is a product, to the bit, and so is 1 / x a quotient.
struct Square {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Mul(x, x);
  }
};
struct Inverse {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), x);
  }
};

struct PowOf {  // an exponent
  double exponent;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return pow(d, x, hn::Set(d, static_cast<hn::TFromD<D>>(exponent)));
  }
};
struct ToThePower {
  double base;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V exponent) const {
    return pow(d, hn::Set(d, static_cast<hn::TFromD<D>>(base)), exponent);
  }
};

void pow_scalar_exponent(const View& self, Scalar exponent, View& out) {
  if (exponent.real == 2) return elementwise(Square{}, out, self);
  if (exponent.real == -1) return elementwise(Inverse{}, out, self);
  elementwise(PowOf{exponent.real}, out, self);
}
void pow_scalar_base(Scalar self, const View& exponent, View& out) {
  elementwise(ToThePower{self.real}, out, exponent);
}

struct Atan2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V other) const {
    return atan2(d, self, other);
  }
};

struct Xlogy {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V other) const {
    const V product = hn::Mul(self, log(d, other));
    const V y = hn::IfThenZeroElse(hn::Eq(self, hn::Zero(d)), product);
    return hn::IfThenElse(hn::IsNaN(other), other, y);
  }
};

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_BINARY(ops::pow_tensor_tensor, Pow, ASSAY_CPU_POW),
    ASSAY_CPU_LEVELS(ops::pow_tensor_scalar, pow_scalar_exponent, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_POW),
    ASSAY_CPU_LEVELS(ops::pow_scalar, pow_scalar_base, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_POW),
    ASSAY_CPU_BINARY(ops::atan2, Atan2, ASSAY_CPU_ATAN2),
    ASSAY_CPU_BINARY(ops::xlogy_tensor, Xlogy, ASSAY_CPU_LOG)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

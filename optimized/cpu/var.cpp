// Variance over dimensions: reduce.h in two passes, the mean first, then the squared distances from it; each in
// sixteen chains of additions. Twice through memory, but nothing is lost where the mean is far from zero.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/var.cpp"
#include "levels.h"

#include "ops/var.h"
#include "reduce.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Var {
  static constexpr bool exact = false;
  static constexpr bool centres = true;
  std::int64_t correction;

  template <class D>
  HWY_INLINE hn::Vec<D> identity(D d) const {
    return hn::Zero(d);
  }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    return hn::Add(a, b);
  }
  template <class D, class V>
  HWY_INLINE V centred(D, V x, V mean) const {
    const V distance = hn::Sub(x, mean);
    return hn::Mul(distance, distance);
  }
  template <class D, class V>
  HWY_INLINE V result(D d, V squares, std::int64_t n) const {
    const std::int64_t divisor = HWY_MAX(std::int64_t{0}, n - correction);
    return hn::Div(squares, hn::Set(d, static_cast<hn::TFromD<D>>(divisor)));
  }
};

void var(const View& self, std::optional<std::span<const std::int64_t>> dim,
         std::optional<std::int64_t> correction, bool keepdim, View& out) {
  reduce(Var{correction.value_or(1)}, self, out, Axes(dim, self.rank()), keepdim);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::var_correction, var, ASSAY_CPU_CHAINS)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

// Sums and means over dimensions: reduce.h with sixteen chains of additions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sum.cpp"
#include "levels.h"

#include "integers.h"
#include "ops/sum.h"
#include "reduce.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Sum {
  static constexpr bool exact = false;
  static constexpr bool centres = false;
  template <class D>
  HWY_INLINE hn::Vec<D> identity(D d) const {
    return hn::Zero(d);
  }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    return hn::Add(a, b);
  }
  template <class D, class V>
  HWY_INLINE V result(D, V total, std::int64_t /*n*/) const {
    return total;
  }
};

struct Mean : Sum {
  template <class D, class V>
  HWY_INLINE V result(D d, V total, std::int64_t n) const {
    return hn::Div(total, hn::Set(d, static_cast<hn::TFromD<D>>(n)));
  }
};

using AxisList = std::optional<std::span<const std::int64_t>>;

void sum(const View& self, AxisList dim, bool keepdim, std::optional<Dtype>, View& out) {
  if (!is_float(out.type())) return reduce_integers<IntegerSum>(self, out, Axes(dim, self.rank()), keepdim);
  reduce(Sum{}, self, out, Axes(dim, self.rank()), keepdim);
}
void mean(const View& self, AxisList dim, bool keepdim, std::optional<Dtype>, View& out) {
  reduce(Mean{}, self, out, Axes(dim, self.rank()), keepdim);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::sum_dim_int_list, sum, ASSAY_CPU_CHAINS),
                                    ASSAY_CPU_LEVELS(ops::mean_dim, mean, ASSAY_CPU_CHAINS)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

// The largest number over dimensions, by reduce.h: NaN wins, -0 < +0; and where it is, by places.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/amax.cpp"
#include "levels.h"

#include "integers.h"
#include "ops/amax.h"
#include "places.h"
#include "reduce.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Amax {
  static constexpr bool exact = true;
  static constexpr bool centres = false;
  template <class D>
  HWY_INLINE hn::Vec<D> identity(D d) const {
    return hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity());
  }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    const V larger = hn::IfThenElse(hn::Gt(a, b), a, b);
    const V ordered = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);
    return hn::IfThenElse(hn::IsNaN(a), a, ordered);
  }
  template <class D, class V>
  HWY_INLINE V result(D, V total, std::int64_t /*n*/) const {
    return total;
  }
};

void amax(const View& self, std::span<const std::int64_t> dim, bool keepdim, View& out) {
  if (!is_float(out.type()))
    return reduce_integers<LargestInteger>(self, out, Axes(dim, self.rank()), keepdim);
  reduce(Amax{}, self, out, Axes(dim, self.rank()), keepdim);
}

void argmax(const View& self, std::optional<std::int64_t> dim, bool keepdim, View& out) {
  if (!is_float(self.type()))
    return reduce_integers<PlaceOfLargestInteger>(self, out, Axes(dim, self.rank()), keepdim);
  place_of_largest(self, out, Axes(dim, self.rank()), keepdim);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::amax, amax, nullptr),
                                    ASSAY_CPU_LEVELS(ops::argmax, argmax, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

// Functions of vectors that are computed in double for either type, or by the C library for few lanes. Compiled for each level.
#include "elementary.h"

#if defined(ASSAY_CPU_ELEMENTARY_WIDE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTARY_WIDE_H
#undef ASSAY_CPU_ELEMENTARY_WIDE_H
#else
#define ASSAY_CPU_ELEMENTARY_WIDE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// Doubles as floats, rounded once. Highway's own conversion without instructions for it gives the largest number for infinity.
template <class D>
HWY_INLINE hn::Vec<D> as_floats(D d, hn::Vec<hn::Rebind<double, D>> x) {
#if HWY_TARGET == HWY_EMU128
  const hn::Rebind<double, D> wide;
  HWY_ALIGN double from[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN float to[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, wide, from);
  for (std::size_t i = 0; i < hn::Lanes(wide); ++i) to[i] = static_cast<float>(from[i]);
  return hn::Load(d, to);
#else
  return hn::DemoteTo(d, x);
#endif
}

// f(d, x...) of doubles; of floats, each half of them as doubles, and rounded once: an error of f in double is none in float.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> in_double(D d, const F& f, V... x) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return f(d, x...);
  } else {
    const hn::Half<D> half;
    const hn::Rebind<double, hn::Half<D>> wide;
    const auto upper = as_floats(half, f(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x))...));
    return hn::Combine(d, upper, as_floats(half, f(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x))...)));
  }
}

// y, and f(x...) of single numbers in the lanes of the mask.
template <class D, class M, class F, class... V>
HWY_INLINE hn::Vec<D> by_library(D d, M lanes, hn::Vec<D> y, const F& f, V... x) {
  if (HWY_LIKELY(hn::AllFalse(d, lanes))) return y;
  using T = hn::TFromD<D>;
  constexpr std::size_t kMost = HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T result[kMost], given[sizeof...(V)][kMost];
  std::uint8_t mask[HWY_MAX(std::size_t{8}, kMost / 8)] = {};
  hn::StoreMaskBits(d, lanes, mask);
  hn::Store(y, d, result);
  std::size_t k = 0;
  (hn::Store(x, d, given[k++]), ...);
  const auto at = [&]<std::size_t... j>(std::size_t i, std::index_sequence<j...>) {
    return f(given[j][i]...);
  };
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    if ((mask[i / 8] >> i % 8 & 1) != 0) result[i] = at(i, std::index_sequence_for<V...>());
  return hn::Load(d, result);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// Sums in sixteen chains or more, as many as keep four vectors going: term i goes into chain i mod their number, and the
// chains are added as a tree. A term passes at most n / 16 + 5 additions, in an order that depends on n alone. Compiled for
// each level.
#include "lanes.h"

#if defined(ASSAY_CPU_CHAINS_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_CHAINS_H
#undef ASSAY_CPU_CHAINS_H
#else
#define ASSAY_CPU_CHAINS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// term(i, m): terms i to i + m - 1 in the first m lanes, m = min(lanes, n - i); the others are left out.
template <class C, class Term>
HWY_INLINE C chained_sum(std::int64_t n, const Term& term) {
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C), chains = HWY_MAX(16, 4 * lanes),
                         vectors = chains / lanes;
  V chain[vectors];
  for (V& c : chain) c = hn::Zero(d);
  const std::int64_t whole = n / chains * chains;
  for (std::int64_t i = 0; i < whole; i += chains)
    for (std::int64_t v = 0; v < vectors; ++v) chain[v] = hn::Add(chain[v], term(i + v * lanes, lanes));
  for (std::int64_t i = whole, v = 0; i < n; i += lanes, ++v) {
    const std::int64_t left = HWY_MIN(n - i, lanes);
    const auto there = hn::FirstN(d, static_cast<std::size_t>(left));
    chain[v] = hn::Add(chain[v], hn::IfThenElseZero(there, term(i, left)));
  }
  for (std::int64_t w = vectors / 2; w > 0; w /= 2)
    for (std::int64_t v = 0; v < w; ++v) chain[v] = hn::Add(chain[v], chain[v + w]);
  HWY_ALIGN C sums[lanes];
  hn::Store(chain[0], d, sums);
  for (std::int64_t w = lanes / 2; w > 0; w /= 2)
    for (std::int64_t i = 0; i < w; ++i) sums[i] += sums[i + w];
  return sums[0];
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

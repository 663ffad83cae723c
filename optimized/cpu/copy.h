// Rows of elements that are moved and not computed with. Compiled for each level.
#include <cstdint>

#include "element.h"
#include "hwy/highway.h"

#if defined(ASSAY_CPU_COPY_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_COPY_H
#undef ASSAY_CPU_COPY_H
#else
#define ASSAY_CPU_COPY_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Bytes without gaps.
HWY_INLINE void copy_bytes(char* to, const char* from, std::int64_t n) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + i)), d,
               reinterpret_cast<std::uint8_t*>(to + i));
  for (; i < n; ++i) to[i] = from[i];
}

// to[i * to_step] = from[i * from_step], steps in elements.
template <class T>
HWY_INLINE void copy_row(T* to, std::int64_t to_step, const T* from, std::int64_t from_step, std::int64_t n) {
  if (to_step == 1 && from_step == 1)
    return copy_bytes(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from),
                      n * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// What resizing kernels share: images whose rows and columns come from others. Compiled for each level.
#include "hwy/highway.h"
#include "parallel.h"
#include "vocabulary/view.h"

#if defined(ASSAY_CPU_RESIZE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_RESIZE_H
#undef ASSAY_CPU_RESIZE_H
#else
#define ASSAY_CPU_RESIZE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kResizeGrain = 32768;  // elements that are worth another thread

// Whether the channels of a pixel are neighbours in memory on both sides: then whole pixels are the vectors.
inline bool along_channels(const View& self, const View& out) {
  return self.size(1) > 1 && self.stride(1) == 1 && out.stride(1) == 1;
}

// row(y, to, from) for each row y of each plane of `out`, a plane being an image's if pixels are the vectors, else a
// channel's; `to` and `from` are how far the row, and the plane of `self`, lie from the start, in elements.
template <class Row>
void resize_rows(const View& self, const View& out, bool pixels, const Row& row) {
  const std::int64_t channels = pixels ? 1 : self.size(1), height = out.size(2);
  const std::int64_t work = out.size(3) * (pixels ? self.size(1) : 1);
  parallel_for(out.size(0) * channels * height, 1 + kResizeGrain / work,
               [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                 for (std::int64_t n = begin; n < end; ++n) {
                   const std::int64_t y = n % height, channel = n / height % channels,
                                      image = n / height / channels;
                   row(y, image * out.stride(0) + channel * out.stride(1) + y * out.stride(2),
                       image * self.stride(0) + channel * self.stride(1));
                 }
               });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// Elements repeated or left out. Where each row and column comes from is computed once; then elements are moved as bits,
// along the channels where those are neighbours in memory on both sides, else along a row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/upsample_nearest2d.cpp"
#include "levels.h"

#include <optional>
#include <span>
#include <vector>

#include "copy.h"
#include "ops/upsample_nearest2d.h"
#include "resize.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

// The offset in one dimension of the input of each position of the output, in f32 as ATen computes it.
std::vector<std::int64_t> sources(const View& self, const View& out, int d, std::optional<double> scale) {
  const float step = scale ? static_cast<float>(1.0 / *scale)
                           : static_cast<float>(self.size(d)) / static_cast<float>(out.size(d));
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(out.size(d)));
  for (std::size_t at = 0; at < offsets.size(); ++at) {
    const float place =
        static_cast<float>(at) * step;  // its integer part, or the last one, if it is beyond that
    const std::int64_t last = self.size(d) - 1;
    offsets[at] =
        (place < static_cast<float>(last) ? static_cast<std::int64_t>(place) : last) * self.stride(d);
  }
  return offsets;
}

template <class T>
HWY_NOINLINE void pick(T* to, std::int64_t step, const T* from, const std::vector<std::int64_t>& offsets) {
  for (const std::int64_t offset : offsets) {
    *to = from[offset];
    to += step;
  }
}

template <class T>
void resize(const View& self, View& out, const std::vector<std::int64_t>& rows,
            const std::vector<std::int64_t>& columns) {
  const bool pixels = along_channels(self, out);
  resize_rows(self, out, pixels, [&](std::int64_t y, std::int64_t at, std::int64_t plane) HWY_ATTR {
    T* to = out.as<T>() + at;
    const T* const from = self.as<const T>() + plane + rows[static_cast<std::size_t>(y)];
    if (!pixels) return pick(to, out.stride(3), from, columns);
    for (const std::int64_t offset : columns) {
      copy_row(to, 1, from + offset, 1, self.size(1));
      to += out.stride(3);
    }
  });
}

void upsample_nearest2d(const View& self, std::span<const std::int64_t> /*output_size*/,
                        std::optional<double> scales_h, std::optional<double> scales_w, View& out) {
  if (out.numel() == 0) return;
  const std::vector<std::int64_t> rows = sources(self, out, 2, scales_h),
                                  columns = sources(self, out, 3, scales_w);
  switch (out.dtype.bits) {
    case 8:
      return resize<std::uint8_t>(self, out, rows, columns);
    case 16:
      return resize<std::uint16_t>(self, out, rows, columns);
    case 32:
      return resize<std::uint32_t>(self, out, rows, columns);
    default:
      return resize<std::uint64_t>(self, out, rows, columns);
  }
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::upsample_nearest2d, upsample_nearest2d, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

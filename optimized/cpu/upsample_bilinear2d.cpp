// Straight lines between elements. Where each row and column lies between two others is computed once, in the compute
// type. Then an element goes first along its column, u0 * a + u1 * c, then along the row: for a whole row of the plane,
// whose sums are made without gaps and picked from by columns, or, where the channels of a pixel are neighbours in memory
// on both sides, for a vector of channels. Both give the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/upsample_bilinear2d.cpp"
#include "levels.h"

#include <optional>
#include <span>
#include <vector>

#include "gather.h"
#include "lanes.h"
#include "ops/upsample_bilinear2d.h"
#include "resize.h"
#include "scratch.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

template <class F>
using Place = hwy::MakeSigned<F>;  // as wide as a lane

// Of one dimension, for each position of the output: the elements of the input that it lies between, and the second one's
// share.
template <class F>
struct Between {
  std::vector<Place<F>> first, second;
  std::vector<F> share;

  Between(std::int64_t size, std::int64_t out, bool align_corners, std::optional<double> scale) {
    const bool copied = size == out;
    const F step = align_corners ? out > 1 ? static_cast<F>(size - 1) / static_cast<F>(out - 1) : F{0}
                   : scale ? static_cast<F>(1.0 / *scale)
                                 : static_cast<F>(size) / static_cast<F>(out);
    const std::int64_t last = size - 1;
    for (std::int64_t at = 0; at < out; ++at) {
      const F place = align_corners ? step * static_cast<F>(at)
                                    : HWY_MAX(step * (static_cast<F>(at) + F{0.5}) - F{0.5}, F{0});
      const std::int64_t k = copied                         ? at
                             : place < static_cast<F>(last) ? static_cast<std::int64_t>(place)
                                                            : last;
      first.push_back(static_cast<Place<F>>(k));
      second.push_back(static_cast<Place<F>>(copied ? k : HWY_MIN(k + 1, last)));
      share.push_back(copied ? F{0} : HWY_MIN(place - static_cast<F>(k), F{1}));
    }
  }
};

// (1 - share) * a + share * b
template <class V>
HWY_INLINE V mixed(V rest, V share, V a, V b) {
  return hn::MulAdd(share, b, hn::Mul(rest, a));
}

// A row of a plane as numbers of the compute type without gaps: itself, or a copy in `buffer`.
template <class F>
const F* plain_row(const View& self, std::int64_t offset, F* buffer) {
  const Dtype type = self.type();
  if (self.stride(3) == 1 && type == (std::is_same_v<F, double> ? Dtype::f64 : Dtype::f32))
    return self.as<const F>() + offset;
  gather(buffer, self.as<const char>() + offset * (self.dtype.bits / 8), type, self.stride(3), type,
         self.size(3));
  return buffer;
}

template <class F>
HWY_NOINLINE void row_of_plane(const View& self, const Between<F>& columns, const F* upper, const F* lower,
                               F share, F* sums, F* result) {
  const hn::ScalableTag<F> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t width = self.size(3);
  const auto u1 = hn::Set(d, share), u0 = hn::Sub(hn::Set(d, F{1}), u1);
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes)
    hn::StoreU(mixed(u0, u1, hn::LoadU(d, upper + i), hn::LoadU(d, lower + i)), d, sums + i);
  if (i < width)
    store_n(mixed(u0, u1, load_n(d, upper + i, width - i), load_n(d, lower + i, width - i)), d, sums + i,
            width - i);

  const hn::RebindToSigned<decltype(d)> di;
  const auto n = static_cast<std::int64_t>(columns.share.size());
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto v1 = hn::LoadU(d, columns.share.data() + i);
    const auto a = hn::GatherIndex(d, sums, hn::LoadU(di, columns.first.data() + i)),
               b = hn::GatherIndex(d, sums, hn::LoadU(di, columns.second.data() + i));
    hn::StoreU(mixed(hn::Sub(hn::Set(d, F{1}), v1), v1, a, b), d, result + i);
  }
  if (i == n) return;
  const auto v1 = load_n(d, columns.share.data() + i, n - i);
  const auto a = hn::GatherIndex(d, sums, load_lanes(di, columns.first.data() + i, n - i)),
             b = hn::GatherIndex(d, sums, load_lanes(di, columns.second.data() + i, n - i));
  store_n(mixed(hn::Sub(hn::Set(d, F{1}), v1), v1, a, b), d, result + i, n - i);
}

// A pixel from the four around it.
template <class T, class F>
HWY_NOINLINE void pixel(T* to, const T* a, const T* b, const T* c, const T* e, F row_share, F column_share,
                        std::int64_t n) {
  const hn::ScalableTag<F> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, F{1}), u1 = hn::Set(d, row_share), u0 = hn::Sub(one, u1),
             v1 = hn::Set(d, column_share), v0 = hn::Sub(one, v1);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(mixed(v0, v1, mixed(u0, u1, load(d, a + i), load(d, c + i)),
                mixed(u0, u1, load(d, b + i), load(d, e + i))),
          d, to + i);
  if (i == n) return;
  const auto left = mixed(u0, u1, load_n(d, a + i, n - i), load_n(d, c + i, n - i)),
             right = mixed(u0, u1, load_n(d, b + i, n - i), load_n(d, e + i, n - i));
  store_n(mixed(v0, v1, left, right), d, to + i, n - i);
}

template <class T>
void resize_pixels(const View& self, View& out, const Between<Compute<T>>& rows,
                   const Between<Compute<T>>& columns) {
  resize_rows(self, out, true, [&](std::int64_t y, std::int64_t at, std::int64_t image) HWY_ATTR {
    const auto r = static_cast<std::size_t>(y);
    const T* const upper = self.as<const T>() + image + rows.first[r] * self.stride(2);
    const T* const lower = self.as<const T>() + image + rows.second[r] * self.stride(2);
    T* to = out.as<T>() + at;
    for (std::size_t x = 0; x < columns.share.size(); ++x, to += out.stride(3)) {
      const std::int64_t left = columns.first[x] * self.stride(3), right = columns.second[x] * self.stride(3);
      pixel(to, upper + left, upper + right, lower + left, lower + right, rows.share[r], columns.share[x],
            self.size(1));
    }
  });
}

template <class F>
void resize_planes(const View& self, View& out, const Between<F>& rows, const Between<F>& columns) {
  const std::int64_t width = self.size(3), n = out.size(3), bytes = out.dtype.bits / 8;
  resize_rows(self, out, false, [&](std::int64_t y, std::int64_t at, std::int64_t plane) HWY_ATTR {
    Scratch scratch(3 * scratch_bytes<F>(width) + scratch_bytes<F>(n));
    F* const sums = scratch.take<F>(width);
    const auto r = static_cast<std::size_t>(y);
    const F* const upper = plain_row(self, plane + rows.first[r] * self.stride(2), scratch.take<F>(width));
    const F* const lower = plain_row(self, plane + rows.second[r] * self.stride(2), scratch.take<F>(width));
    F* const result = scratch.take<F>(n);
    row_of_plane(self, columns, upper, lower, rows.share[r], sums, result);
    scatter(out.as<char>() + at * bytes, out.type(), out.stride(3), result, n);
  });
}

template <class T>
void resize(const View& self, bool align_corners, std::optional<double> scales_h,
            std::optional<double> scales_w, View& out) {
  const Between<Compute<T>> rows(self.size(2), out.size(2), align_corners, scales_h),
      columns(self.size(3), out.size(3), align_corners, scales_w);
  if (along_channels(self, out))
    resize_pixels<T>(self, out, rows, columns);
  else
    resize_planes(self, out, rows, columns);
}

void upsample_bilinear2d(const View& self, std::span<const std::int64_t> /*output_size*/, bool align_corners,
                         std::optional<double> scales_h, std::optional<double> scales_w, View& out) {
  if (out.numel() == 0) return;
  constexpr std::int64_t kGreatest = std::int64_t{1} << 31;
  if (HWY_MAX(self.size(2), self.size(3)) >= kGreatest)
    throw Refused("planes of 2^31 rows or columns are not supported");
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, { resize<T>(self, align_corners, scales_h, scales_w, out); })
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::upsample_bilinear2d, upsample_bilinear2d, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

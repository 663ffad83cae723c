// Straight lines between elements: first along the column, u0 * a + u1 * c, then along the row, in the compute type.
// A thread takes 16 bytes of the result where those are neighbours in memory: of channels, if those of the input are
// neighbours, too, or of a row, whose elements it reads one by one. Else it takes an element. An element meets the same
// operations in each.
#include "ops/upsample_bilinear2d.h"

#include <optional>

#include "element.h"
#include "elementary.h"
#include "image.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Two elements of one dimension of the input, by their offsets, and the second one's share.
template <class C>
struct Between {
  std::int64_t first, second;
  C share;

  __device__ C mixed(C a, C b) const { return fma_of(share, b, (C(1) - share) * a); }
};

template <class C>
struct Bilinear {
  std::int64_t size, stride;
  C step;
  bool align_corners, copied;

  Bilinear(const Image& in, const Image& out, int d, bool corners, std::optional<double> scale)
      : size(in.size[d]), stride(in.stride[d]), align_corners(corners), copied(in.size[d] == out.size[d]) {
    const std::int64_t wanted = out.size[d];
    if (corners)
      step = wanted > 1 ? static_cast<C>(size - 1) / static_cast<C>(wanted - 1) : C(0);
    else
      step = scale ? static_cast<C>(1.0 / *scale) : static_cast<C>(size) / static_cast<C>(wanted);
  }

  __device__ Between<C> at(std::int64_t at) const {
    if (copied) return {at * stride, at * stride, C(0)};
    const C middle = step * (static_cast<C>(at) + C(0.5)) - C(0.5);
    const C place = align_corners ? step * static_cast<C>(at) : middle < C(0) ? C(0) : middle;
    const std::int64_t last = size - 1;
    const std::int64_t k = place < static_cast<C>(last) ? static_cast<std::int64_t>(place) : last;
    const C share = place - static_cast<C>(k);
    return {k * stride, (k < last ? k + 1 : last) * stride, share < C(1) ? share : C(1)};
  }
};

template <class C>
struct BilinearShape {
  Image in, out;
  Bilinear<C> rows, columns;
};

// `upper` and `lower` are the rows of the input, from which columns lie at the offsets of x.
template <class T>
__device__ __forceinline__ T bilinear(const T* upper, const T* lower, const Between<Compute<T>>& y,
                                      const Between<Compute<T>>& x) {
  return narrowed<T>(x.mixed(y.mixed(widened(upper[x.first]), widened(lower[x.first])),
                             y.mixed(widened(upper[x.second]), widened(lower[x.second]))));
}

// Budget: 38 registers, 1.44 sectors.
template <class T>
__global__ void upsample_bilinear_kernel(T* out, const T* in, BilinearShape<Compute<T>> s, Walk walk) {
  for (std::int64_t i = global_thread(); i < walk.count; i += global_threads()) {
    const Pixel p = walk.at(i);
    const T* const plane = in + s.in.plane(p);
    const Between<Compute<T>> y = s.rows.at(p.row);
    out[s.out.offset(p)] = bilinear(plane + y.first, plane + y.second, y, s.columns.at(p.column));
  }
}

// Budget: 47 registers, 2.23 sectors.
template <class T>
__global__ void upsample_bilinear_vector_kernel(T* out, const T* in, BilinearShape<Compute<T>> s, Walk walk) {
  constexpr int width = Vector<T>::size;
  for (std::int64_t i = global_thread(); i < walk.count; i += global_threads()) {
    const Pixel p = walk.at(i);
    const T* const plane = in + s.in.plane(p);
    const Between<Compute<T>> y = s.rows.at(p.row);
    const T *const upper = plane + y.first, *const lower = plane + y.second;
    Vector<T> result;
    if (walk.along_channels) {
      const Between<Compute<T>> x = s.columns.at(p.column);
      const Vector<T> a = load_vector(upper + x.first), b = load_vector(upper + x.second),
                      c = load_vector(lower + x.first), d = load_vector(lower + x.second);
      ASSAY_UNROLL
      for (int j = 0; j < width; ++j)
        result.element[j] = narrowed<T>(x.mixed(y.mixed(widened(a.element[j]), widened(c.element[j])),
                                                y.mixed(widened(b.element[j]), widened(d.element[j]))));
    } else {
      ASSAY_UNROLL
      for (int j = 0; j < width; ++j)
        result.element[j] = bilinear(upper, lower, y, s.columns.at(p.column + j));
    }
    store_vector(out + s.out.offset(p), result);
  }
}

inline constexpr int kBilinearThreads = 256;

template <class T>
void upsample_bilinear_as(const View& self, View& out, const BilinearShape<Compute<T>>& s) {
  constexpr int width = Vector<T>::size;
  T* const to = out.as<T>();
  const T* const from = self.as<const T>();
  const bool pixels = s.in.in_vectors(1, from, width) && s.out.in_vectors(1, to, width);
  if (pixels || s.out.in_vectors(3, to, width)) {
    const Walk walk(s.out, pixels, width);
    return launch<upsample_bilinear_vector_kernel<T>>(blocks_for(walk.count, kBilinearThreads),
                                                      kBilinearThreads, 0, to, from, s, walk);
  }
  const Walk walk(s.out, s.out.along_channels(), 1);
  launch<upsample_bilinear_kernel<T>>(blocks_for(walk.count, kBilinearThreads), kBilinearThreads, 0, to, from,
                                      s, walk);
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void upsample_bilinear2d(const View& self, std::span<const std::int64_t> /*output_size*/, bool align_corners,
                         std::optional<double> scales_h, std::optional<double> scales_w, View& out) {
  if (out.numel() == 0) return;
  const Image from(self), to(out);
  with_floating_point(out.type(), [&](auto element) {
    using T = decltype(element);
    const BilinearShape<Compute<T>> s{
        from, to, {from, to, 2, align_corners, scales_h}, {from, to, 3, align_corners, scales_w}};
    upsample_bilinear_as<T>(self, out, s);
  });
}

constexpr assay_kernel upsample_bilinear2d_kernels[] = {
    ASSAY_CUDA(ops::upsample_bilinear2d, upsample_bilinear2d, nullptr)};
const Enrolled upsample_bilinear2d_enrolled{upsample_bilinear2d_kernels};

}  // namespace
}  // namespace assay::cuda

// How a window moves over an image, as kernels take it; and tables of where its positions and taps lie, which the matrix
// products of a convolution look up.
#pragma once

#include <vector>

#include "call.h"
#include "gemm.h"
#include "geometry/windows.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kWindowDims = 24;  // that have more than one position, tap or element

// One dimension of a movement (cpu/windows.h): positions and taps are evenly spaced. Strides and offsets in memory count
// elements; `first` ones are summed up in WindowMoves.
struct WindowDim {
  std::int64_t positions, taps;
  std::int64_t size, image_stride;         // of the image
  std::int64_t step;                       // between positions, in the image
  std::int64_t first_tap, tap_step;        // what taps see from the first position
  std::int64_t out_stride, weight_stride;  // between positions in the output, and taps in the weight
};

struct WindowMoves {
  std::int32_t dims;
  std::int64_t positions, taps;
  std::int64_t out_first, weight_first;
  WindowDim dim[kWindowDims];
};

inline WindowMoves window_moves(const cpu::Movement& movement, const View& image, const View& weight,
                                const View& out) {
  WindowMoves m{};
  m.positions = cpu::positions(movement);
  m.taps = cpu::taps(movement);
  for (std::size_t d = 0; d < movement.size(); ++d) {
    const cpu::WindowAxis& axis = movement[d];
    const int v = static_cast<int>(d) + 2;
    const auto taps = static_cast<std::int64_t>(axis.taps.size());
    m.out_first += axis.out_first * out.stride(v);
    if (taps != 0) m.weight_first += axis.taps[0].tap * weight.stride(v);
    if (axis.count == 1 && taps == 1 && image.size(v) == 1 && axis.taps[0].offset == 0) continue;
    if (m.dims == kWindowDims)
      throw Refused("windows that move in more than 24 dimensions are not supported");
    m.dim[m.dims++] = {
        .positions = axis.count,
        .taps = taps,
        .size = image.size(v),
        .image_stride = image.stride(v),
        .step = axis.in_step,
        .first_tap = taps == 0 ? 0 : axis.taps[0].offset,
        .tap_step = taps < 2 ? 0 : axis.taps[1].offset - axis.taps[0].offset,
        .out_stride = axis.out_step * out.stride(v),
        .weight_stride = taps < 2 ? 0 : (axis.taps[1].tap - axis.taps[0].tap) * weight.stride(v)};
  }
  return m;
}

// Whether tables can hold the coordinates of this movement, for products that look them up.
inline bool in_tables(const WindowMoves& m) {
  constexpr std::int64_t most = 1 << 29;
  if (m.dims > kGemmDims) return false;
  for (int d = 0; d < m.dims; ++d) {
    const WindowDim& w = m.dim[d];
    const std::int64_t farthest = (w.positions - 1) * w.step;
    const std::int64_t last_tap = w.first_tap + (w.taps - 1) * w.tap_step;
    if (w.size > most || farthest > most || w.first_tap > most || w.first_tap < -most || last_tap > most ||
        last_tap < -most)
      return false;
  }
  return true;
}

inline void image_size(const WindowMoves& m, std::int32_t (&size)[kGemmDims]) {
  for (int d = 0; d < kGemmDims; ++d) size[d] = d < m.dims ? static_cast<std::int32_t>(m.dim[d].size) : 1;
}

// A table: numbers count through `majors`, then coordinates in `dims` dimensions, then `minors`.
struct PlaceList {
  std::int32_t dims;
  std::int64_t majors, major_stride, minors, minor_stride, first;
  struct Dim {
    std::int64_t count, stride;
    std::int32_t at_first, at_step;
  } dim[kGemmDims];

  std::int64_t count() const {
    std::int64_t n = majors * minors;
    for (int d = 0; d < dims; ++d) n *= dim[d].count;
    return n;
  }
};

__device__ inline GemmPlace place_of(const PlaceList& list, std::int64_t i) {
  GemmPlace place{list.first, {0, 0, 0}};
  const std::int64_t minor = i % list.minors;
  i /= list.minors;
  place.offset += minor * list.minor_stride;
  ASSAY_UNROLL
  for (int d = kGemmDims - 1; d >= 0; --d) {
    if (d >= list.dims) continue;
    const std::int64_t c = i % list.dim[d].count;
    i /= list.dim[d].count;
    place.offset += c * list.dim[d].stride;
    place.at[d] = list.dim[d].at_first + static_cast<std::int32_t>(c) * list.dim[d].at_step;
  }
  place.offset += i * list.major_stride;
  return place;
}

// Entry is GemmPlace, or std::int64_t for offsets alone.
// Budget: 40 registers, 4.07 sectors, 1.09 passes.
template <class Entry>
__global__ void convolution_places_kernel(PlaceList list, std::int64_t count, Entry* entries) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    if constexpr (std::is_same_v<Entry, GemmPlace>)
      entries[i] = place_of(list, i);
    else
      entries[i] = place_of(list, i).offset;
  }
}

template <class Entry>
Scratch<Entry> make_table(const PlaceList& list) {
  Scratch<Entry> entries(list.count());
  if (list.count() != 0)
    launch<convolution_places_kernel<Entry>>(blocks_for(list.count(), 256), 256, 0, list, list.count(),
                                             entries.data());
  return entries;
}
inline Scratch<GemmPlace> make_places(const PlaceList& list) { return make_table<GemmPlace>(list); }
inline Scratch<std::int64_t> make_offsets(const PlaceList& list) { return make_table<std::int64_t>(list); }

// Where positions of all images see the image, lie in the output; and where taps of all channels see it, lie in the weight.
inline PlaceList positions_in_image(const WindowMoves& m, std::int64_t images, std::int64_t image_stride) {
  PlaceList list{m.dims, images, image_stride, 1, 0, 0, {}};
  for (int d = 0; d < m.dims; ++d)
    list.dim[d] = {m.dim[d].positions, m.dim[d].step * m.dim[d].image_stride, 0,
                   static_cast<std::int32_t>(m.dim[d].step)};
  return list;
}
inline PlaceList positions_in_output(const WindowMoves& m, std::int64_t images, std::int64_t image_stride) {
  PlaceList list{m.dims, images, image_stride, 1, 0, m.out_first, {}};
  for (int d = 0; d < m.dims; ++d) list.dim[d] = {m.dim[d].positions, m.dim[d].out_stride, 0, 0};
  return list;
}
inline PlaceList taps_in_image(const WindowMoves& m, std::int64_t channels, std::int64_t channel_stride) {
  PlaceList list{m.dims, 1, 0, channels, channel_stride, 0, {}};
  for (int d = 0; d < m.dims; ++d) {
    const WindowDim& w = m.dim[d];
    list.dim[d] = {w.taps, w.tap_step * w.image_stride, static_cast<std::int32_t>(w.first_tap),
                   static_cast<std::int32_t>(w.tap_step)};
    list.first += w.first_tap * w.image_stride;
  }
  return list;
}
inline PlaceList taps_in_weight(const WindowMoves& m, std::int64_t channels, std::int64_t channel_stride) {
  PlaceList list{m.dims, 1, 0, channels, channel_stride, m.weight_first, {}};
  for (int d = 0; d < m.dims; ++d) list.dim[d] = {m.dim[d].taps, m.dim[d].weight_stride, 0, 0};
  return list;
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda

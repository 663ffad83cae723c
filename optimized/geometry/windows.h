// What a convolution multiplies, as matrices: which elements of an image the taps of a window look at, and how they are
// gathered into columns. Code for no particular ISA: it copies, and computes addresses.
//
// A window moves over an image in steps of `in_step`. A convolution is one such movement. The transposed one, whose taps
// look back by distance / stride where that leaves no rest, is one movement for each remainder of the output's position:
// in each the step is 1, and only the taps of that remainder take part (no product with the zeros between elements).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vocabulary/view.h"

namespace assay::cpu {

// One dimension of a movement.
struct WindowAxis {
  struct Tap {
    std::int64_t tap;     // of the weight
    std::int64_t offset;  // what it looks at from the first position
  };
  std::int64_t count;                // positions
  std::int64_t out_first, out_step;  // where they are in the output
  std::int64_t in_step;
  std::vector<Tap> taps;
};
using Movement = std::vector<WindowAxis>;

// Lists have one number for each dimension of the image, or one for all.
struct WindowAttributes {
  std::span<const std::int64_t> stride, padding, dilation;
};

// All movements by which `out` is computed from `image`; their positions cover the output once. Shapes without the first
// two dimensions.
std::vector<Movement> movements(std::span<const std::int64_t> image, std::span<const std::int64_t> window,
                                std::span<const std::int64_t> out, const WindowAttributes& attributes,
                                bool transposed);

std::int64_t positions(const Movement& movement);
std::int64_t taps(const Movement& movement);

// Element offset of every tap, in row-major order, for a weight with these strides.
std::vector<std::int64_t> tap_offsets(const Movement& movement, std::span<const std::int64_t> strides);
// Element offset of position p in an output with these strides.
std::int64_t out_offset(const Movement& movement, std::int64_t p, std::span<const std::int64_t> strides);
// The distance between neighbouring positions in the output, if it is the same for all in [begin, end).
// -1 otherwise.
std::int64_t out_step(const Movement& movement, std::int64_t begin, std::int64_t end,
                      std::span<const std::int64_t> strides);

// If all taps of all positions lie in the image, positions and channels at one distance each, one tap a window: the
// distance between positions. Then the image is the gathered matrix already. -1 otherwise.
std::int64_t in_place_step(const Movement& movement, std::span<const std::int64_t> image,
                           std::span<const std::int64_t> strides);

// The element at this offset.
inline char* at(const View& v, std::int64_t offset) {
  return static_cast<char*>(v.data) + offset * (v.dtype.bits / 8);
}

// Channels of one image in memory.
struct Image {
  const void* data;
  int bytes;  // of an element
  std::int64_t channels, channel_stride;
  std::span<const std::int64_t> sizes, strides;
  std::uint64_t outside = 0;  // the bits of what stands around the image
};

// Positions [begin, end) of the movement: for each, taps x channels elements, `outside` for those around the image. They
// lie at to[row * columns + column] for row = tap * channels + channel and column = position - begin or, if the channels
// are neighbours, at to[column * rows + row]: see gathers_rows(). `columns` may be more than there are positions.
void gather_windows(void* to, std::int64_t columns, const Image& image, const Movement& movement,
                    std::int64_t begin, std::int64_t end);
bool gathers_rows(const Image& image);

}  // namespace assay::cpu

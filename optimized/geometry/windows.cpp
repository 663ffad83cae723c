#include "windows.h"

#include <algorithm>
#include <cstring>

namespace assay::cpu {
namespace {

std::int64_t of(std::span<const std::int64_t> list, std::size_t d) {
  return list.size() == 1 ? list[0] : list[d];
}

WindowAxis forward(std::int64_t window, std::int64_t out, std::int64_t stride, std::int64_t padding,
                   std::int64_t dilation) {
  WindowAxis axis{out, 0, 1, stride, {}};
  for (std::int64_t r = 0; r < window; ++r) axis.taps.push_back({r, r * dilation - padding});
  return axis;
}

// Of the positions that leave `rest` when divided by the stride.
WindowAxis backward(std::int64_t window, std::int64_t out, std::int64_t stride, std::int64_t padding,
                    std::int64_t dilation, std::int64_t rest) {
  WindowAxis axis{(out - rest + stride - 1) / stride, rest, stride, 1, {}};
  for (std::int64_t r = 0; r < window; ++r) {
    const std::int64_t distance = rest + padding - r * dilation;
    if (distance % stride == 0) axis.taps.push_back({r, distance / stride});
  }
  return axis;
}

// Coordinates that count through sizes in row-major order.
class Odometer {
 public:
  Odometer(std::vector<std::int64_t> sizes, std::int64_t number)
      : sizes_(std::move(sizes)), at_(sizes_.size()) {
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      at_[d] = number % sizes_[d];
      number /= sizes_[d];
    }
  }
  std::int64_t operator[](std::size_t d) const { return at_[d]; }
  // Leaps over `n` of the last dimension, to its end at most.
  void advance(std::int64_t n) {
    at_.back() += n;
    for (std::size_t d = sizes_.size(); d-- > 1 && at_[d] == sizes_[d];) {
      at_[d] = 0;
      ++at_[d - 1];
    }
  }

 private:
  std::vector<std::int64_t> sizes_, at_;
};

std::vector<std::int64_t> counts(const Movement& m) {
  std::vector<std::int64_t> sizes;
  for (const WindowAxis& a : m) sizes.push_back(a.count);
  return sizes;
}
std::vector<std::int64_t> tap_counts(const Movement& m) {
  std::vector<std::int64_t> sizes;
  for (const WindowAxis& a : m) sizes.push_back(static_cast<std::int64_t>(a.taps.size()));
  return sizes;
}

// The positions of a run along the last dimension whose tap lies in the image: [first, last) of [0, n).
struct Inside {
  std::int64_t first, last;
};
Inside inside(std::int64_t start, std::int64_t step, std::int64_t size, std::int64_t n) {
  const std::int64_t first = start >= 0 ? 0 : (-start + step - 1) / step;
  const std::int64_t last = start >= size ? 0 : (size - start + step - 1) / step;
  return {std::min(first, n), std::clamp(last, std::min(first, n), n)};
}

template <class W>
void copy(W* to, const W* from, std::int64_t step, std::int64_t n) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(W));
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

template <class W>
void gather(W* to, std::int64_t columns, const Image& image, const Movement& m, std::int64_t begin,
            std::int64_t end) {
  const W* const data = static_cast<const W*>(image.data);
  const W outside = static_cast<W>(image.outside);
  const std::size_t last = m.size() - 1;
  const std::int64_t rows = taps(m) * image.channels;
  const bool by_rows = gathers_rows(image);
  const std::int64_t step = m[last].in_step * image.strides[last];
  Odometer at(counts(m), begin);
  for (std::int64_t p = begin; p < end;) {
    const std::int64_t n = std::min(m[last].count - at[last], end - p), column = p - begin;
    Odometer tap(tap_counts(m), 0);
    for (std::int64_t t = 0; t < taps(m); ++t, tap.advance(1)) {
      std::int64_t from = 0;
      bool out = false;
      for (std::size_t d = 0; d < last; ++d) {
        const std::int64_t i = at[d] * m[d].in_step + m[d].taps[static_cast<std::size_t>(tap[d])].offset;
        out = out || i < 0 || i >= image.sizes[d];
        from += i * image.strides[d];
      }
      const std::int64_t start =
          at[last] * m[last].in_step + m[last].taps[static_cast<std::size_t>(tap[last])].offset;
      const Inside in = out ? Inside{n, n} : inside(start, m[last].in_step, image.sizes[last], n);
      from += start * image.strides[last];
      if (by_rows) {
        for (std::int64_t k = 0; k < n; ++k) {
          W* const row = to + (column + k) * rows + t * image.channels;
          if (k >= in.first && k < in.last)
            std::memcpy(row, data + from + k * step, static_cast<std::size_t>(image.channels) * sizeof(W));
          else
            std::fill_n(row, image.channels, outside);
        }
        continue;
      }
      for (std::int64_t c = 0; c < image.channels; ++c) {
        W* const row = to + (t * image.channels + c) * columns + column;
        std::fill_n(row, in.first, outside);
        if (in.last > in.first)
          copy(row + in.first, data + c * image.channel_stride + from + in.first * step, step,
               in.last - in.first);
        std::fill_n(row + in.last, n - in.last, outside);
      }
    }
    at.advance(n);
    p += n;
  }
}

}  // namespace

std::vector<Movement> movements(std::span<const std::int64_t> image, std::span<const std::int64_t> window,
                                std::span<const std::int64_t> out, const WindowAttributes& attributes,
                                bool transposed) {
  std::vector<Movement> all(1);
  for (std::size_t d = 0; d < image.size(); ++d) {
    const std::int64_t stride = of(attributes.stride, d), padding = of(attributes.padding, d),
                       dilation = of(attributes.dilation, d);
    std::vector<Movement> longer;
    for (const Movement& m : all)
      for (std::int64_t rest = 0; rest < (transposed ? std::min(stride, out[d]) : 1); ++rest) {
        longer.push_back(m);
        longer.back().push_back(transposed ? backward(window[d], out[d], stride, padding, dilation, rest)
                                           : forward(window[d], out[d], stride, padding, dilation));
      }
    all = std::move(longer);
  }
  return all;
}

std::int64_t positions(const Movement& movement) {
  std::int64_t n = 1;
  for (const WindowAxis& a : movement) n *= a.count;
  return n;
}
std::int64_t taps(const Movement& movement) {
  std::int64_t n = 1;
  for (const WindowAxis& a : movement) n *= static_cast<std::int64_t>(a.taps.size());
  return n;
}

std::vector<std::int64_t> tap_offsets(const Movement& movement, std::span<const std::int64_t> strides) {
  std::vector<std::int64_t> offsets;
  const std::int64_t n = taps(movement);
  if (n == 0) return offsets;
  Odometer at(tap_counts(movement), 0);
  for (std::int64_t t = 0; t < n; ++t, at.advance(1)) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < movement.size(); ++d)
      offset += movement[d].taps[static_cast<std::size_t>(at[d])].tap * strides[d];
    offsets.push_back(offset);
  }
  return offsets;
}

std::int64_t out_offset(const Movement& movement, std::int64_t p, std::span<const std::int64_t> strides) {
  const Odometer at(counts(movement), p);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < movement.size(); ++d)
    offset += (movement[d].out_first + at[d] * movement[d].out_step) * strides[d];
  return offset;
}

std::int64_t out_step(const Movement& movement, std::int64_t begin, std::int64_t end,
                      std::span<const std::int64_t> strides) {
  if (end - begin <= 1) return 0;
  std::int64_t step = 0, inner = 1;  // inner: positions that are known to lie at this distance
  for (std::size_t d = movement.size(); d-- > 0;) {
    if (inner > 1 && begin / inner == (end - 1) / inner) break;
    const std::int64_t here = movement[d].out_step * strides[d];
    if (movement[d].count == 1) continue;
    if (inner == 1)
      step = here;
    else if (here != step * inner)
      return -1;
    inner *= movement[d].count;
  }
  return step;
}

std::int64_t in_place_step(const Movement& movement, std::span<const std::int64_t> image,
                           std::span<const std::int64_t> strides) {
  if (taps(movement) != 1) return -1;
  for (std::size_t d = 0; d < movement.size(); ++d)
    if (movement[d].in_step != 1 || movement[d].taps[0].offset != 0 || movement[d].count != image[d])
      return -1;
  Movement same = movement;
  for (WindowAxis& a : same) a.out_step = 1;
  return out_step(same, 0, positions(same), strides);
}

bool gathers_rows(const Image& image) {
  return image.channel_stride == 1 && image.channels > 1 && image.strides.back() != 1;
}

void gather_windows(void* to, std::int64_t columns, const Image& image, const Movement& movement,
                    std::int64_t begin, std::int64_t end) {
  if (begin == end || taps(movement) == 0) return;
  switch (image.bytes) {
    case 1:
      return gather(static_cast<std::uint8_t*>(to), columns, image, movement, begin, end);
    case 2:
      return gather(static_cast<std::uint16_t*>(to), columns, image, movement, begin, end);
    case 4:
      return gather(static_cast<std::uint32_t*>(to), columns, image, movement, begin, end);
    default:
      return gather(static_cast<std::uint64_t*>(to), columns, image, movement, begin, end);
  }
}

}  // namespace assay::cpu

#include "strided_copy.h"

#include <cstring>

#include "poison.h"

namespace assay {

namespace {

// Calls visit(element offset, elements) for stretches of neighbouring elements, in row-major order. With `once`,
// dimensions of stride 0 are walked once.
template <class Visit>
void walk(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, bool once,
          const Visit& visit) {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> steps;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return;
    if (shape[d] == 1 || (once && strides[d] == 0)) continue;
    // A dimension that continues the previous one without a gap is the same dimension.
    if (!steps.empty() && steps.back() == strides[d] * shape[d]) {
      sizes.back() *= shape[d];
      steps.back() = strides[d];
    } else {
      sizes.push_back(shape[d]);
      steps.push_back(strides[d]);
    }
  }
  std::int64_t stretch = 1;
  if (!steps.empty() && steps.back() == 1) {
    stretch = sizes.back();
    sizes.pop_back();
    steps.pop_back();
  }
  std::vector<std::int64_t> index(sizes.size(), 0);
  std::int64_t at = 0;
  while (true) {
    visit(at, stretch);
    std::size_t d = sizes.size();
    while (d-- > 0) {
      at += steps[d];
      if (++index[d] < sizes[d]) break;
      at -= steps[d] * sizes[d];
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

bool is_packed(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  std::int64_t expected = 1;
  bool packed = true;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    packed = packed && (shape[d] == 1 || strides[d] == expected);
    expected *= shape[d];
  }
  return packed;
}

std::vector<std::byte> gather(const std::byte* first, std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> strides, int size) {
  std::int64_t n = 1;
  for (const std::int64_t s : shape) n *= s;
  const auto total = static_cast<std::size_t>(n * size);
  if (is_packed(shape, strides)) return {first, first + total};
  std::vector<std::byte> packed(total);
  std::byte* to = packed.data();
  walk(shape, strides, false, [&](std::int64_t at, std::int64_t elements) {
    std::memcpy(to, first + at * size, static_cast<std::size_t>(elements * size));
    to += elements * size;
  });
  return packed;
}

void scatter(std::byte* first, std::span<const std::byte> packed, std::span<const std::int64_t> shape,
             std::span<const std::int64_t> strides, int size) {
  const std::byte* from = packed.data();
  walk(shape, strides, false, [&](std::int64_t at, std::int64_t elements) {
    std::memcpy(first + at * size, from, static_cast<std::size_t>(elements * size));
    from += elements * size;
  });
}

void copy_strided(std::byte* to, const std::byte* from, std::span<const std::int64_t> shape,
                  std::span<const std::int64_t> strides, int size) {
  walk(shape, strides, true, [&](std::int64_t at, std::int64_t elements) {
    std::memcpy(to + at * size, from + at * size, static_cast<std::size_t>(elements * size));
  });
}

void poison_strided(std::byte* first, std::span<const std::int64_t> shape,
                    std::span<const std::int64_t> strides, int size, std::uint16_t pattern) {
  walk(shape, strides, true, [&](std::int64_t at, std::int64_t elements) {
    fill_poison(first + at * size, static_cast<std::size_t>(elements * size), pattern);
  });
}

}  // namespace assay

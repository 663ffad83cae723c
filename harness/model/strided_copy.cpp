#include "strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "poison.h"

namespace assay {

namespace {

// Calls visit(element offset, elements, step) for stretches of elements that are `step` apart, in row-major order. With
// `once`, dimensions of stride 0 are walked once.
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
  std::int64_t stretch = 1, step = 1;
  if (!steps.empty()) {
    stretch = sizes.back();
    step = steps.back();
    sizes.pop_back();
    steps.pop_back();
  }
  std::vector<std::int64_t> index(sizes.size(), 0);
  std::int64_t at = 0;
  while (true) {
    visit(at, stretch, step);
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

// Copies n elements that are so many elements apart. A size that the compiler knows makes a move of each.
template <std::size_t size>
void copy_elements(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
                   std::int64_t n) {
  constexpr auto step = static_cast<std::int64_t>(size);
  for (std::int64_t k = 0; k < n; ++k)
    std::memcpy(to + k * to_step * step, from + k * from_step * step, size);
}
void copy_elements(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
                   std::int64_t n, int size) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
    return;
  }
  switch (size) {
    case 1:
      return copy_elements<1>(to, to_step, from, from_step, n);
    case 2:
      return copy_elements<2>(to, to_step, from, from_step, n);
    case 4:
      return copy_elements<4>(to, to_step, from, from_step, n);
    default:
      return copy_elements<8>(to, to_step, from, from_step, n);
  }
}

}  // namespace

bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> inner_first;  // strides and sizes
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) inner_first.emplace_back(strides[d], shape[d]);
  std::ranges::sort(inner_first);
  std::int64_t expected = 1;
  for (const auto& [stride, size] : inner_first) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

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
  walk(shape, strides, false, [&](std::int64_t at, std::int64_t elements, std::int64_t step) {
    copy_elements(to, 1, first + at * size, step, elements, size);
    to += elements * size;
  });
  return packed;
}

bool same_elements(const std::byte* first, std::span<const std::byte> packed,
                   std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, int size) {
  if (is_packed(shape, strides)) return packed.empty() || same_bytes({first, packed.size()}, packed);
  bool same = true;
  const std::byte* expected = packed.data();
  std::array<std::byte, 4096> block;
  walk(shape, strides, false, [&](std::int64_t at, std::int64_t elements, std::int64_t step) {
    const auto most = static_cast<std::int64_t>(block.size()) / size;
    for (std::int64_t k = 0; same && k < elements; k += most) {
      const std::int64_t n = std::min(most, elements - k);
      const auto bytes = static_cast<std::size_t>(n * size);
      copy_elements(block.data(), 1, first + (at + k * step) * size, step, n, size);
      same = same_bytes({block.data(), bytes}, {expected, bytes});
      expected += bytes;
    }
  });
  return same;
}

void scatter(std::byte* first, std::span<const std::byte> packed, std::span<const std::int64_t> shape,
             std::span<const std::int64_t> strides, int size) {
  const std::byte* from = packed.data();
  walk(shape, strides, false, [&](std::int64_t at, std::int64_t elements, std::int64_t step) {
    copy_elements(first + at * size, step, from, 1, elements, size);
    from += elements * size;
  });
}

void copy_strided(std::byte* to, const std::byte* from, std::span<const std::int64_t> shape,
                  std::span<const std::int64_t> strides, int size) {
  walk(shape, strides, true, [&](std::int64_t at, std::int64_t elements, std::int64_t step) {
    copy_elements(to + at * size, step, from + at * size, step, elements, size);
  });
}

void poison_strided(std::byte* first, std::span<const std::int64_t> shape,
                    std::span<const std::int64_t> strides, int size, std::uint16_t pattern) {
  alignas(8) std::array<std::byte, 8> poison;  // of an element
  fill_poison(poison.data(), poison.size(), pattern);
  walk(shape, strides, true, [&](std::int64_t at, std::int64_t elements, std::int64_t step) {
    std::byte* const begin = first + at * size;
    if (step == 1)
      fill_poison(begin, static_cast<std::size_t>(elements * size), pattern);
    else
      copy_elements(begin, step, poison.data(), 0, elements, size);
  });
}

}  // namespace assay

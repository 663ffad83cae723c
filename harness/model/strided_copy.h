// Copies between strided memory and row-major memory without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace assay {

// The elements at `first + strides` (in elements of `size` bytes) in row-major order.
std::vector<std::byte> gather(const std::byte* first, std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> strides, int size);

// The way back: row-major elements to `first + strides`. Of those that share a place, the last one stays.
void scatter(std::byte* first, std::span<const std::byte> packed, std::span<const std::int64_t> shape,
             std::span<const std::int64_t> strides, int size);

// The same walk over two strided memories: every element of `from` to its place in `to`. Dimensions with stride 0
// in both are walked once.
void copy_strided(std::byte* to, const std::byte* from, std::span<const std::int64_t> shape,
                  std::span<const std::int64_t> strides, int size);

// Sets every element to the 16-bit pattern, laid over memory by address (see poison.h), which is even unless size is 1.
void poison_strided(std::byte* first, std::span<const std::int64_t> shape,
                    std::span<const std::int64_t> strides, int size, std::uint16_t pattern);

// Whether the elements lie in row-major order without gaps.
bool is_packed(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

// Whether the elements, each in a place of its own, fill their memory without gaps, in whatever order.
bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

// Whether the elements at `first + strides` are those, in row-major order.
bool same_elements(const std::byte* first, std::span<const std::byte> packed,
                   std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, int size);

// a == b, which compares std::byte one by one.
inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace assay

#include "poison.h"

#include <algorithm>
#include <cstring>

namespace assay {

namespace {

constexpr std::size_t kCopied = 4096;  // at a time: what is copied from stays in the nearest cache

std::uint64_t widened(std::uint16_t pattern) { return pattern * 0x0001'0001'0001'0001ULL; }

template <class T>
std::size_t next_unwritten(const std::byte* a, const std::byte* b, std::size_t from, std::size_t n,
                           Dtype dtype) {
  const T in_a = static_cast<T>(widened(poison(dtype, Run::a)));
  const T in_b = static_cast<T>(widened(poison(dtype, Run::b)));
  for (std::size_t i = from; i < n; ++i) {
    T x;
    std::memcpy(&x, a + i * sizeof(T), sizeof(T));
    if (x != in_a) continue;
    T y;
    std::memcpy(&y, b + i * sizeof(T), sizeof(T));
    if (y == in_b) return i;
  }
  return n;
}

std::size_t next_unwritten(const std::byte* a, const std::byte* b, std::size_t from, std::size_t n,
                           Dtype dtype) {
  switch (bytes(dtype)) {
    case 1:
      return next_unwritten<std::uint8_t>(a, b, from, n, dtype);
    case 2:
      return next_unwritten<std::uint16_t>(a, b, from, n, dtype);
    case 4:
      return next_unwritten<std::uint32_t>(a, b, from, n, dtype);
    default:
      return next_unwritten<std::uint64_t>(a, b, from, n, dtype);
  }
}

}  // namespace

void fill_poison(std::byte* at, std::size_t n, std::uint16_t pattern) {
  if (n > 0 && (reinterpret_cast<std::uintptr_t>(at) & 1) != 0) {
    *at++ = static_cast<std::byte>(pattern >> 8);
    --n;
  }
  const std::uint64_t wide = widened(pattern);
  if (n >=
      1024) {  // what is filled is copied to what follows it: memcpy has the widest vectors of the machine
    std::byte* const begin = at;
    for (int i = 0; i < 32; ++i) std::memcpy(begin + 8 * i, &wide, 8);
    std::size_t filled = 256;
    for (const std::size_t all = n / 2 * 2; filled < all;) {
      const std::size_t more = std::min({filled, all - filled, kCopied});
      std::memcpy(begin + filled, begin, more);
      filled += more;
    }
    at += filled;
    n -= filled;
  }
  for (; n >= 32; at += 32, n -= 32)
    for (int i = 0; i < 4; ++i) std::memcpy(at + 8 * i, &wide, 8);
  for (; n >= 2; at += 2, n -= 2) std::memcpy(at, &pattern, 2);
  if (n > 0) *at = static_cast<std::byte>(pattern & 0xFF);
}

std::size_t first_unpoisoned(const std::byte* at, std::size_t n, std::uint16_t pattern) {
  std::size_t i = 0;
  if (n > 0 && (reinterpret_cast<std::uintptr_t>(at) & 1) != 0) {
    if (*at != poison_byte(at, pattern)) return 0;
    i = 1;
  }
  const std::uint64_t wide = widened(pattern);
  for (; i + 32 <= n; i += 32) {
    std::uint64_t x[4];
    std::memcpy(x, at + i, 32);
    if (((x[0] ^ wide) | (x[1] ^ wide) | (x[2] ^ wide) | (x[3] ^ wide)) != 0) break;
  }
  for (; i < n; ++i)
    if (at[i] != poison_byte(at + i, pattern)) return i;
  return n;
}

std::size_t first_unwritten(const std::byte* a, const std::byte* b, std::size_t n, Dtype dtype) {
  return next_unwritten(a, b, 0, n, dtype);
}

std::size_t count_unwritten(const std::byte* a, const std::byte* b, std::size_t n, Dtype dtype) {
  std::size_t count = 0;
  for (std::size_t i = next_unwritten(a, b, 0, n, dtype); i < n; i = next_unwritten(a, b, i + 1, n, dtype))
    ++count;
  return count;
}

}  // namespace assay

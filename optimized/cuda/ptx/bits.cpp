// and, or, xor, not, cnot, shl, shr, shf, bfi, bfe, prmt, lop3, popc, clz, brev.
#include <algorithm>

#include "lanes.h"
#include "operations.h"
#include "types.h"

namespace assay::cuda::ptx {
namespace {

using Parts = std::vector<std::string_view>;

template <class T>
T both(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T either(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T one_of(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T inverted(T a) {
  return static_cast<T>(~a);
}
template <class T>
T is_zero(T a) {
  return a == 0;
}
std::uint64_t not_true(std::uint8_t a) { return (a & 1) ^ 1; }

// By how many bits is a u32; more than there are is as many.
template <class T, bool left>
void shift(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1]), *b = warp.row(i.row[2]);
  constexpr std::uint32_t width = 8 * sizeof(T);
  in_vectors(lanes, [=](std::uint32_t l) {
    const auto by = static_cast<std::uint32_t>(b[l]);
    const T x = get<T>(a[l]);
    if constexpr (left)
      d[l] = by >= width ? 0 : put<T>(static_cast<T>(static_cast<std::uint64_t>(x) << by));
    else if (by >= width)
      d[l] = put<T>(static_cast<T>(x < 0 ? -1 : 0));
    else
      d[l] = put<T>(static_cast<T>(x >> by));
  });
}

// A funnel: 64 bits, of which one half remains.
template <bool left, bool wrap>
std::uint32_t funnel(std::uint32_t low, std::uint32_t high, std::uint32_t by) {
  by = wrap ? by & 31 : std::min(by, 32u);
  const std::uint64_t all = std::uint64_t{high} << 32 | low;
  return static_cast<std::uint32_t>(left ? all << by >> 32 : all >> by);
}

// bfi d, a, b, c, n: n bits of a into b from bit c.
template <class T>
void insert(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t* r[5];
  for (std::size_t k = 0; k < 5; ++k) r[k] = warp.row(i.row[k]);
  in_vectors(lanes, [=](std::uint32_t l) {
    const std::uint32_t at = r[3][l] & 255, count = r[4][l] & 255;
    const std::uint64_t mask =
        at >= 64 ? 0 : (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << at;
    r[0][l] = put<T>(static_cast<T>((at >= 64 ? 0 : r[1][l] << at & mask) | (r[2][l] & ~mask)));
  });
}

// bfe d, a, b, c: c bits of a from bit b, extended by the sign of the field.
template <class T>
T extract(T a, T b, std::uint32_t c) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  const std::uint32_t at = static_cast<std::uint32_t>(b) & 255, count = c & 255;
  using U = std::make_unsigned_t<T>;
  if (count == 0) return 0;
  const std::uint32_t last = std::min(at + count - 1, width - 1);
  const bool negative = std::is_signed_v<T> && (static_cast<U>(a) >> last & 1) != 0;
  const std::uint32_t there = at >= width ? 0 : std::min(count, width - at);
  U field = at >= width ? U{0} : static_cast<U>(static_cast<U>(a) >> at);
  if (there < width) {
    const U mask = static_cast<U>((U{1} << there) - 1);
    field = static_cast<U>(negative ? field | ~mask : field & mask);
  }
  return static_cast<T>(field);
}

std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selection) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (int k = 0; k < 4; ++k) {
    const std::uint32_t s = selection >> 4 * k & 15;
    std::uint32_t byte = static_cast<std::uint32_t>(bytes >> 8 * (s & 7)) & 255;
    if ((s & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << 8 * k;
  }
  return result;
}

void any_logic(Warp& warp, const Instruction& i, std::uint32_t lanes) {  // lop3.b32 d, a, b, c, table
  std::uint64_t* r[5];
  for (std::size_t k = 0; k < 5; ++k) r[k] = warp.row(i.row[k]);
  in_vectors(lanes, [=](std::uint32_t l) {
    std::uint64_t d = 0;
    for (std::uint32_t k = 0; k < 8; ++k)
      if ((r[4][l] >> k & 1) != 0)
        d |= ((k & 4) != 0 ? r[1][l] : ~r[1][l]) & ((k & 2) != 0 ? r[2][l] : ~r[2][l]) &
             ((k & 1) != 0 ? r[3][l] : ~r[3][l]);
    r[0][l] = static_cast<std::uint32_t>(d);
  });
}

template <class T>
std::uint32_t count_ones(T a) {
  return static_cast<std::uint32_t>(std::popcount(a));
}
template <class T>
std::uint32_t count_leading(T a) {
  return static_cast<std::uint32_t>(std::countl_zero(a));
}
template <class T>
T reversed(T a) {
  T r = 0;
  for (std::size_t k = 0; k < 8 * sizeof(T); ++k)
    r = static_cast<T>(r | (a >> k & 1) << (8 * sizeof(T) - 1 - k));
  return r;
}

template <class T>
Handler logic(std::string_view name) {
  if (name == "and") return best_binary<T, T, &both<T>>();
  if (name == "or") return best_binary<T, T, &either<T>>();
  if (name == "xor") return best_binary<T, T, &one_of<T>>();
  if (name == "not") return best_unary<T, T, &inverted<T>>();
  if (name == "cnot") return best_unary<T, T, &is_zero<T>>();
  if (name == "shl") return best<&shift<T, true>>();
  if (name == "shr") return best<&shift<T, false>>();
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) >= 4) {
    if (name == "bfi") return best<&insert<T>>();
    if (name == "bfe") return best_ternary<T, T, std::uint32_t, &extract<T>>();
    if (name == "popc") return best_unary<std::uint32_t, U, &count_ones<U>>();
    if (name == "clz") return best_unary<std::uint32_t, U, &count_leading<U>>();
    if (name == "brev") return best_unary<U, U, &reversed<U>>();
  }
  return nullptr;
}

}  // namespace

Handler bits_handler(const Parts& p, Instruction&) {
  using U = std::uint32_t;
  if (p.size() == 2 && p.back() == "pred") {
    if (p[0] == "not") return best_unary<std::uint64_t, std::uint8_t, &not_true>();
    return p[0] == "and" || p[0] == "or" || p[0] == "xor" ? logic<std::uint8_t>(p[0]) : nullptr;
  }
  const bool b32 = p.back() == "b32";
  if (p[0] == "prmt") return p.size() == 2 && b32 ? best_ternary<U, U, U, &permuted>() : nullptr;
  if (p[0] == "lop3") return p.size() == 2 && b32 ? best<&any_logic>() : nullptr;
  if (p[0] == "shf") {
    if (p.size() != 4 || (p[1] != "l" && p[1] != "r") || (p[2] != "wrap" && p[2] != "clamp") || !b32)
      return nullptr;
    if (p[1] == "l")
      return p[2] == "wrap" ? best_ternary<U, U, U, &funnel<true, true>>()
                            : best_ternary<U, U, U, &funnel<true, false>>();
    return p[2] == "wrap" ? best_ternary<U, U, U, &funnel<false, true>>()
                          : best_ternary<U, U, U, &funnel<false, false>>();
  }
  if (p.size() != 2) return nullptr;
  return of_integer(p.back(), [&](auto t) { return logic<typename decltype(t)::type>(p[0]); });
}

}  // namespace assay::cuda::ptx

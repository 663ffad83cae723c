// Integer: 64 bits of two's complement that wrap, for references that hold for integers (Operator::in_integers). What is
// kept of a result is its low bits, so that sums and products are those of the narrower dtype: both are modulo 2^bits.
//
// Only what such references use is here; a reference that uses more says so when it is compiled.
#pragma once

#include <cstdint>

#include "scalar.h"

namespace assay {

struct Integer {
  std::int64_t value = 0;

  Integer() = default;
  explicit constexpr Integer(std::int64_t v) : value(v) {}

  friend bool operator==(Integer, Integer) = default;
  friend auto operator<=>(Integer, Integer) = default;
};

namespace detail {
constexpr std::uint64_t bits(Integer x) { return static_cast<std::uint64_t>(x.value); }
constexpr Integer wrapped(std::uint64_t x) { return Integer(static_cast<std::int64_t>(x)); }
}  // namespace detail

constexpr Integer operator+(Integer a, Integer b) {
  return detail::wrapped(detail::bits(a) + detail::bits(b));
}
constexpr Integer operator-(Integer a, Integer b) {
  return detail::wrapped(detail::bits(a) - detail::bits(b));
}
constexpr Integer operator*(Integer a, Integer b) {
  return detail::wrapped(detail::bits(a) * detail::bits(b));
}

// Towards zero. The quotient of the least number by -1 wraps, too. No right formula divides by 0; a wrong one gets 0.
constexpr Integer operator/(Integer a, Integer b) {
  if (b.value == 0) return Integer(0);
  return b.value == -1 ? Integer(0) - a : Integer(a.value / b.value);
}
// The greatest integer that is not larger than the quotient.
constexpr Integer floor_quotient(Integer a, Integer b) {
  const Integer q = a / b;
  const bool above = q * b != a && (a.value < 0) != (b.value < 0);
  return above ? q - Integer(1) : q;
}

inline bool is_nan(Integer) { return false; }
inline bool finite_for_certain(Integer) { return true; }
inline Integer select(bool condition, Integer a, Integer b) { return condition ? a : b; }
inline Integer either(Integer a, Integer) {
  return a;
}  // what differs in its rounding alone is the same here
inline Integer maximum(Integer a, Integer b) { return a > b ? a : b; }

template <>
struct ScalarOps<Integer> {
  static Integer input(std::int64_t x) { return Integer(x); }
  static Integer parameter(double x) { return Integer(static_cast<std::int64_t>(x)); }
  template <class Term>
  static Integer sum(std::int64_t n, Term&& term) {
    Integer s;
    for (std::int64_t k = 0; k < n; ++k) s = s + term(k);
    return s;
  }
};

}  // namespace assay

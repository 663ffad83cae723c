// Integer: 64 bits of two's complement that wrap, for references that hold for integers (Operator::in_integers). What is
// kept of a result is its low bits, so that sums and products are those of the narrower dtype: both are modulo 2^bits.
//
// Only what such references use is here; a reference that uses more says so when it is compiled.
#pragma once

#include <cstdint>
#include <type_traits>

#include "scalar.h"

namespace assay {

struct Integer {
  std::int64_t value = 0;

  Integer() = default;
  template <class Number>
  requires std::is_integral_v<Number>
  explicit constexpr Integer(Number v) : value(static_cast<std::int64_t>(v)) {}
  // For wrong formulas, which have constants of right ones for numbers that are no integers.
  explicit constexpr Integer(double v) : value(static_cast<std::int64_t>(v)) {}

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

// x - y trunc(x / y); of 0 as y, 0, as the quotient.
constexpr Integer fmod(Integer a, Integer b) { return b.value == 0 ? Integer(0) : a - a / b * b; }
constexpr Integer operator-(Integer a) { return Integer(0) - a; }
constexpr Integer abs(Integer a) { return a.value < 0 ? -a : a; }
// An integer is what it is rounded to.
constexpr Integer floor(Integer x) { return x; }
constexpr Integer trunc(Integer x) { return x; }
constexpr Integer rint(Integer x) { return x; }
// Modulo 2^64. A negative power of anything but 1 and -1 is 0, as ATen has it.
constexpr Integer pow(Integer x, Integer n) {
  if (n.value < 0) {
    if (x.value != 1 && x.value != -1) return Integer(0);
    return (n.value & 1) != 0 ? x : Integer(1);
  }
  Integer power(1);
  for (std::int64_t k = n.value; k != 0; k >>= 1, x = x * x)
    if ((k & 1) != 0) power = power * x;
  return power;
}

inline bool is_nan(Integer) { return false; }
inline bool finite_for_certain(Integer) { return true; }
inline Integer select(bool condition, Integer a, Integer b) { return condition ? a : b; }
inline Integer either(Integer a, Integer) {
  return a;
}  // what differs in its rounding alone is the same here
inline Integer maximum(Integer a, Integer b) { return a > b ? a : b; }
inline Integer minimum(Integer a, Integer b) { return a < b ? a : b; }

template <>
struct ScalarOps<Integer> {
  static Integer input(std::int64_t x) { return Integer(x); }
  static Integer parameter(double x) { return Integer(x); }
  static Integer cast(Integer x, Dtype) { return x; }  // as above
  template <class Term>
  static Integer sum(std::int64_t n, Term&& term) {
    Integer s;
    for (std::int64_t k = 0; k < n; ++k) s = s + term(k);
    return s;
  }
};

}  // namespace assay

// Counted: a double that counts what is done with it. What does not depend on the tensors' numbers (1 - momentum) is not
// counted, because a kernel computes it once.
#pragma once

#include <type_traits>

#include "scalar.h"
#include "work.h"

namespace assay {

namespace detail {
inline constinit thread_local Operations operations{};
}  // namespace detail

// Of this thread, since they were last set.
inline Operations& operations() { return detail::operations; }

struct Counted {
  double value = 0;
  bool data = false;  // depends on the numbers of a tensor

  Counted() = default;
  template <class Number>
  requires std::is_arithmetic_v<Number>
  explicit Counted(Number x) : value(static_cast<double>(x)) {}
  Counted(double x, bool of_data) : value(x), data(of_data) {}
};

namespace detail {
inline Counted counted(std::int64_t Operations::*kind, double result, const Counted& a,
                       const Counted& b = {}) {
  const bool data = a.data || b.data;
  operations.*kind += data ? 1 : 0;
  return {result, data};
}
inline bool compared(bool result, const Counted& a, const Counted& b) {
  operations.comparisons += a.data || b.data ? 1 : 0;
  return result;
}
}  // namespace detail

inline Counted operator+(const Counted& a, const Counted& b) {
  return detail::counted(&Operations::additions, a.value + b.value, a, b);
}
inline Counted operator-(const Counted& a, const Counted& b) {
  return detail::counted(&Operations::additions, a.value - b.value, a, b);
}
inline Counted operator-(const Counted& a) { return {-a.value, a.data}; }
inline Counted operator*(const Counted& a, const Counted& b) {
  return detail::counted(&Operations::multiplications, a.value * b.value, a, b);
}
inline Counted operator/(const Counted& a, const Counted& b) {
  return detail::counted(&Operations::divisions, a.value / b.value, a, b);
}

inline bool operator<(const Counted& a, const Counted& b) {
  return detail::compared(a.value < b.value, a, b);
}
inline bool operator>(const Counted& a, const Counted& b) {
  return detail::compared(a.value > b.value, a, b);
}
inline bool operator<=(const Counted& a, const Counted& b) {
  return detail::compared(a.value <= b.value, a, b);
}
inline bool operator>=(const Counted& a, const Counted& b) {
  return detail::compared(a.value >= b.value, a, b);
}
inline bool operator==(const Counted& a, const Counted& b) {
  return detail::compared(a.value == b.value, a, b);
}
inline bool operator!=(const Counted& a, const Counted& b) {
  return detail::compared(a.value != b.value, a, b);
}

inline Counted select(bool condition, const Counted& a, const Counted& b) {
  const Counted& chosen = condition ? a : b;
  return {chosen.value, a.data || b.data};
}
inline Counted group(const Counted& x) { return x; }
inline bool is_nan(const Counted& x) { return is_nan(x.value); }
inline bool finite_for_certain(const Counted& x) { return std::isfinite(x.value); }
inline Counted maximum(const Counted& a, const Counted& b) {
  return detail::counted(&Operations::comparisons, maximum(a.value, b.value), a, b);
}
inline Counted minimum(const Counted& a, const Counted& b) {
  return detail::counted(&Operations::comparisons, minimum(a.value, b.value), a, b);
}
inline Counted abs(const Counted& x) { return {abs(x.value), x.data}; }
inline Counted trunc(const Counted& x) { return {trunc(x.value), x.data}; }
inline Counted floor(const Counted& x) { return {floor(x.value), x.data}; }
inline Counted rint(const Counted& x) { return {rint(x.value), x.data}; }
inline Counted fmod(const Counted& x, const Counted& y) {
  return detail::counted(&Operations::divisions, fmod(x.value, y.value), x, y);
}
inline FloorRange floor_range(const Counted& x, std::int64_t n) { return floor_range(x.value, n); }
inline Counted sqrt(const Counted& x) { return detail::counted(&Operations::roots, sqrt(x.value), x); }

#define ASSAY_COUNTED(f) \
  inline Counted f(const Counted& x) { return detail::counted(&Operations::functions, f(x.value), x); }
ASSAY_COUNTED(exp)
ASSAY_COUNTED(log)
ASSAY_COUNTED(tanh)
ASSAY_COUNTED(erf)
ASSAY_COUNTED(sin)
ASSAY_COUNTED(cos)
ASSAY_COUNTED(asin)
ASSAY_COUNTED(acos)
ASSAY_COUNTED(atan)
ASSAY_COUNTED(exp2)
ASSAY_COUNTED(log2)
ASSAY_COUNTED(expm1)
ASSAY_COUNTED(log1p)
#undef ASSAY_COUNTED
inline Counted pow(const Counted& x, const Counted& y) {
  return detail::counted(&Operations::functions, pow(x.value, y.value), x, y);
}
inline Counted atan2(const Counted& y, const Counted& x) {
  return detail::counted(&Operations::functions, atan2(y.value, x.value), y, x);
}

template <>
struct ScalarOps<Counted> {
  static Counted input(double x) { return {x, true}; }
  static Counted parameter(double x) { return Counted(x); }
  static Counted cast(const Counted& x, Dtype d) { return {ScalarOps<double>::cast(x.value, d), x.data}; }
  static void integer_products(std::int64_t n) {
    operations().multiplications += n;
    operations().additions += n;
  }
  template <class Term>
  static Counted sum(std::int64_t n, Term&& term) {
    if (n == 0) return {};
    Counted s = term(0);
    for (std::int64_t k = 1; k < n; ++k) s = s + term(k);
    return s;
  }
  template <class Term, class Each>
  static void running_sums(std::int64_t n, Term&& term, Each&& each) {
    Counted s;
    for (std::int64_t k = 0; k < n; ++k) each(k, s = k == 0 ? term(k) : s + term(k));
  }
  template <class Term>
  static Counted largest_at(std::int64_t n, Term&& term) {
    std::int64_t best = 0;
    Counted largest = term(0);
    if (is_nan(largest)) return {0.0, true};
    for (std::int64_t k = 1; k < n; ++k) {
      const Counted x = term(k);
      if (is_nan(x)) return {static_cast<double>(k), true};
      if (!(x > largest)) continue;
      best = k;
      largest = x;
    }
    return {static_cast<double>(best), true};
  }
};

}  // namespace assay

// Dual: a value with its derivative along one direction, by the chain rule, in 191 bits. Where the formula has a kink,
// the derivative is that of the branch that the formula takes.
#pragma once

#include "real.h"

namespace assay {

struct Dual {
  Real value;
  Real tangent;

  Dual() = default;
  explicit Dual(double constant) : value(constant) {}
  template <class Integer>
  requires std::is_integral_v<Integer>
  explicit Dual(Integer constant) : value(constant) {}
  Dual(Real v, Real t) : value(std::move(v)), tangent(std::move(t)) {}
};

inline Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.tangent + b.tangent}; }
inline Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.tangent - b.tangent}; }
inline Dual operator-(const Dual& a) { return {-a.value, -a.tangent}; }
inline Dual operator*(const Dual& a, const Dual& b) {
  return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
}
inline Dual operator/(const Dual& a, const Dual& b) {
  const Real q = a.value / b.value;
  return {q, (a.tangent - q * b.tangent) / b.value};
}

inline bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
inline bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
inline bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
inline bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
inline bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
inline bool operator!=(const Dual& a, const Dual& b) { return !(a.value == b.value); }

inline Dual select(bool condition, const Dual& a, const Dual& b) { return condition ? a : b; }
inline Dual group(const Dual& x) { return x; }
inline bool is_nan(const Dual& x) { return is_nan(x.value); }
inline bool finite_for_certain(const Dual& x) { return is_finite(x.value); }
// The first of two equal ones, as in a scan for the maximum.
inline Dual maximum(const Dual& a, const Dual& b) { return is_nan(a.value) || a.value >= b.value ? a : b; }
inline Dual minimum(const Dual& a, const Dual& b) { return is_nan(a.value) || a.value <= b.value ? a : b; }
inline Dual abs(const Dual& x) { return is_negative(x.value) ? -x : x; }

inline FloorRange floor_range(const Dual& x, std::int64_t n) { return floor_range(x.value, n); }
inline Dual trunc(const Dual& x) { return {trunc(x.value), Real()}; }
inline Dual floor(const Dual& x) { return {floor(x.value), Real()}; }
inline Dual rint(const Dual& x) { return {rint(x.value), Real()}; }
inline Dual fmod(const Dual& x, const Dual& y) {
  return {fmod(x.value, y.value), x.tangent - trunc(x.value / y.value) * y.tangent};
}

inline Dual sqrt(const Dual& x) {
  const Real y = sqrt(x.value);
  return {y, x.tangent / (y + y)};
}
inline Dual exp(const Dual& x) {
  const Real y = exp(x.value);
  return {y, y * x.tangent};
}
inline Dual expm1(const Dual& x) { return {expm1(x.value), exp(x.value) * x.tangent}; }
inline Dual exp2(const Dual& x) {
  const Real y = exp2(x.value);
  return {y, y * log(Real(2)) * x.tangent};
}
inline Dual log(const Dual& x) { return {log(x.value), x.tangent / x.value}; }
inline Dual log1p(const Dual& x) { return {log1p(x.value), x.tangent / (Real(1) + x.value)}; }
inline Dual log2(const Dual& x) { return {log2(x.value), x.tangent / (x.value * log(Real(2)))}; }
inline Dual tanh(const Dual& x) {
  const Real y = tanh(x.value);
  return {y, (Real(1) - y * y) * x.tangent};
}
inline Dual erf(const Dual& x) {
  const Real slope = Real(2) / sqrt(acos(Real(-1))) * exp(-(x.value * x.value));
  return {erf(x.value), slope * x.tangent};
}
inline Dual sin(const Dual& x) { return {sin(x.value), cos(x.value) * x.tangent}; }
inline Dual cos(const Dual& x) { return {cos(x.value), -(sin(x.value) * x.tangent)}; }
inline Dual asin(const Dual& x) { return {asin(x.value), x.tangent / sqrt(Real(1) - x.value * x.value)}; }
inline Dual acos(const Dual& x) { return {acos(x.value), -(x.tangent / sqrt(Real(1) - x.value * x.value))}; }
inline Dual atan(const Dual& x) { return {atan(x.value), x.tangent / (Real(1) + x.value * x.value)}; }
inline Dual pow(const Dual& x, const Dual& y) {
  const Real p = pow(x.value, y.value);
  Real t = y.value * pow(x.value, y.value - Real(1)) * x.tangent;
  if (!(y.tangent == Real(0))) t = t + p * log(x.value) * y.tangent;
  return {p, t};
}

inline Dual atan2(const Dual& y, const Dual& x) {
  return {atan2(y.value, x.value),
          (x.value * y.tangent - y.value * x.tangent) / (x.value * x.value + y.value * y.value)};
}

template <>
struct ScalarOps<Dual> {
  static Dual input(double x, double tangent) { return {Real(x), Real(tangent)}; }
  static Dual parameter(double x) { return Dual(x); }
  // A conversion moves as its argument does.
  static Dual cast(const Dual& x, Dtype d) { return {ScalarOps<Real>::cast(x.value, d), x.tangent}; }
  template <class Term>
  static Dual sum(std::int64_t n, Term&& term) {
    Dual s;
    for (std::int64_t k = 0; k < n; ++k) s = s + term(k);
    return s;
  }
};

}  // namespace assay

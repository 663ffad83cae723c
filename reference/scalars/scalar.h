// The functions that a reference may use, and what they mean for double, the plainest scalar.
//
//   + - * / and unary -      < <= > >= == !=, giving the scalar's truth value (bool, or Tri)
//   S(number)                a literal of the formula       param<S>(x)  an argument of the call: alpha, eps
//   select(condition, a, b)  maximum, minimum (IEEE 754-2019: NaN wins, -0 < +0)       is_nan  abs  sqrt
//   exp log tanh erf sin cos asin acos atan exp2 log2 expm1 log1p pow       atan2(y, x)
//   trunc floor rint         the nearest integer towards zero, the greatest one that is not larger, the nearest one (ties to even)
//   fmod(x, y)               x - y trunc(x / y), which is exact
//   by_floor<S>(x, n, piece) piece(k) for k = floor(x), kept from 0 to n - 1; the pieces should meet where x is an integer
//   either(a, [] { return b; })   a, where kernels may as well compute b: the same number written in another way
//   sum<S>(n, term)          term(0) + ... + term(n-1), in no particular order
//   running_sums<S>(n, term, each)   each(k, term(0) + ... + term(k)) for every k, each in no particular order
//   largest_at<S>(n, term)   the first k for which term(k) is NaN, or if there is none, for which no other is larger;
//                            under tie=any, any such k; the result of an element, not of one of a row
//   folded(a, [] { return b; })   a, (x - mean) * scale; or b, x * scale + shift, where the contract says affine=folded,
//                            which folds<S>() tells a reference that would prepare for b in vain
//   rewritten(a, [] { return b; })   a; or b, another formula for the same number, where the contract says form=rewritten
//   line(x, mean, scale, shift, more)   more + x * scale + (shift - mean * scale), for such a b: mean and scale are one number
//                            each, whatever their errors
//   moments<S>(n, x)         mean and squared distances from it: moments.h
//   group(x)                 x as one number: parentheses that a kernel must respect, because it would lose accuracy
//                            if it mixed the terms of x with those of a sum around it
//   integer_products<S>(n)   says that n products of integers were computed and added without S; only counting hears it
//   cast<S>(x, dtype)        a conversion to a floating-point dtype that the operator's definition asks for:
//                            rounded once, to nearest even
//   passed<S>(x, dtype)      x on its way from one operator of a graph to another: kernels may store it as this dtype and
//                            read it again, or keep it as it is
//   finite_for_certain(x)    whether no kernel has an infinity or NaN in its place
//
// A further scalar is one more file: its type with these functions (found by argument-dependent lookup), a
// specialisation of ScalarOps, and its name in kScalars of reading.h. References do not change.
#pragma once

#ifdef __FAST_MATH__
#error "References must be compiled without -ffast-math: their error analysis assumes IEEE 754 arithmetic."
#endif

#include <cmath>
#include <cstdint>

#include "dtype.h"
#include "stop.h"

namespace assay {

// What a scalar type must say about itself.
//   static S input(double x)              an element of a tensor, exactly
//   static S parameter(double x)          an argument of the call: a kernel may round it to its compute format
//   static S cast(const S& x, Dtype d)
//   template <class Term> static S sum(std::int64_t n, Term&& term)
//   template <class Term, class Each> static void running_sums(...), template <class Term> static S largest_at(...):
//     optional; otherwise one addition, or comparison, after the other
//   static S either(const S& a, const S& b), static bool folds(), static bool rewrites(), static S line(...)   optional: of scalars
//     for which there are other ways
//   static S passed(const S& x, Dtype d)   optional: of scalars to which storing matters
//   static void begin(int output, std::int64_t number)   optional: called before each element or row
template <class S>
struct ScalarOps;

// A row may be so long that one sum takes longer than anybody waits.
template <class Term>
auto stoppable(const Term& term) {
  return [&term](std::int64_t k) {
    stop_point_at(k);
    return term(k);
  };
}
template <class S, class Term>
S sum(std::int64_t n, Term&& term) {
  return ScalarOps<S>::sum(n, stoppable(term));
}
template <class S, class Term, class Each>
void running_sums(std::int64_t n, Term&& term, Each&& each) {
  const auto terms = stoppable(term);
  if constexpr (requires { ScalarOps<S>::running_sums(n, terms, each); }) {
    ScalarOps<S>::running_sums(n, terms, each);
  } else {
    S s{};
    for (std::int64_t k = 0; k < n; ++k) each(k, s = s + terms(k));
  }
}
inline bool is_nan(double x) { return std::isnan(x); }
inline bool finite_for_certain(double x) { return std::isfinite(x); }
inline double floor(double x) { return std::floor(x); }
inline double group(double x) { return x; }
// `b` is a function, which is called where another way of writing matters.
template <class S, class Other>
S either(const S& a, Other&& b) {
  if constexpr (requires { ScalarOps<S>::either(a, a); })
    return ScalarOps<S>::either(a, b());
  else
    return a;
}
template <class S>
bool folds() {
  if constexpr (requires { ScalarOps<S>::folds(); })
    return ScalarOps<S>::folds();
  else
    return false;
}
template <class S, class Other>
S folded(const S& a, Other&& b) {
  return folds<S>() ? either(a, b) : a;
}
template <class S, class Other>
S rewritten(const S& a, Other&& b) {
  if constexpr (requires { ScalarOps<S>::rewrites(); })
    return ScalarOps<S>::rewrites() ? either(a, b) : a;
  else
    return a;
}
template <class S>
S line(const S& x, const S& mean, const S& scale, const S& shift, const S& more = S(0)) {
  const S one_mean = group(mean), one_scale = group(scale);
  if constexpr (requires { ScalarOps<S>::line(x, mean, scale, shift, more); })
    return ScalarOps<S>::line(x, one_mean, one_scale, shift, more);
  else
    return more + x * one_scale + (shift + -one_mean * one_scale);
}
template <class S, class Term>
S largest_at(std::int64_t n, Term&& term) {
  if constexpr (requires { ScalarOps<S>::largest_at(n, term); }) {
    return ScalarOps<S>::largest_at(n, term);
  } else {
    std::int64_t best = 0;
    S largest = term(0);
    for (std::int64_t k = 0; k < n; ++k) {
      const S x = term(k);
      if (is_nan(x)) return S(k);
      if (!(x > largest)) continue;
      best = k;
      largest = x;
    }
    return S(best);
  }
}
// Which of the integers from 0 to n - 1 is next to floor(x); 0 for NaN.
template <class V>
std::int64_t floor_within(const V& x, std::int64_t n) {
  if (!(x > V(0))) return 0;
  return x < V(n - 1) ? static_cast<std::int64_t>(static_cast<double>(floor(x))) : n - 1;
}
// What that may be for any kernel, and for the likely one.
struct FloorRange {
  std::int64_t likely, least, greatest;
};
template <class S>
FloorRange floor_range(const S& x, std::int64_t n) {
  const std::int64_t k = floor_within(x, n);
  return {k, k, k};
}
template <class S, class Piece>
S by_floor(const S& x, std::int64_t n, Piece&& piece) {
  const FloorRange at = floor_range(x, n);
  S result = piece(at.likely);
  for (std::int64_t k = at.least; k <= at.greatest; ++k)
    if (k != at.likely) result = either(result, [&] { return piece(k); });
  return result;
}
template <class S>
void integer_products(std::int64_t n) {
  if constexpr (requires { ScalarOps<S>::integer_products(n); }) ScalarOps<S>::integer_products(n);
}
template <class S>
S cast(const S& x, Dtype d) {
  return ScalarOps<S>::cast(x, d);
}
template <class S>
S passed(const S& x, Dtype d) {
  if constexpr (requires { ScalarOps<S>::passed(x, d); })
    return ScalarOps<S>::passed(x, d);
  else
    return x;
}
template <class S>
S param(double x) {
  return ScalarOps<S>::parameter(x);
}

template <>
struct ScalarOps<double> {
  static double input(double x) { return x; }
  static double parameter(double x) { return x; }
  static double cast(double x, Dtype d) { return round_to(x, format(d)); }
  template <class Term>
  static double sum(std::int64_t n, Term&& term) {
    double s = 0;
    for (std::int64_t k = 0; k < n; ++k) s += term(k);
    return s;
  }
};

inline double select(bool condition, double a, double b) { return condition ? a : b; }
inline double abs(double x) { return std::fabs(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double trunc(double x) { return std::trunc(x); }
inline double rint(double x) { return std::rint(x); }  // in the standard state of rounding
inline double fmod(double x, double y) { return std::fmod(x, y); }
inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double asin(double x) { return std::asin(x); }
inline double acos(double x) { return std::acos(x); }
inline double atan(double x) { return std::atan(x); }
inline double exp2(double x) { return std::exp2(x); }
inline double log2(double x) { return std::log2(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double pow(double x, double y) { return std::pow(x, y); }
inline double atan2(double y, double x) { return std::atan2(y, x); }

inline double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
inline double minimum(double a, double b) { return -maximum(-a, -b); }

}  // namespace assay

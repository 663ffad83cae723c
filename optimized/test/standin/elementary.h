// Elementary functions in more than the format that is computed in has, so that to round once is as good as
// right: f64 for f32, and for f64 a quadruple precision, whose functions glibc has.
#pragma once

#include <cmath>
#include <type_traits>

namespace standin {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, _Float128, double>;

inline double wide_exp(double x) { return std::exp(x); }
inline double wide_expm1(double x) { return std::expm1(x); }
inline double wide_log(double x) { return std::log(x); }
inline double wide_tanh(double x) { return std::tanh(x); }
inline _Float128 wide_exp(_Float128 x) { return expf128(x); }
inline _Float128 wide_expm1(_Float128 x) { return expm1f128(x); }
inline _Float128 wide_log(_Float128 x) { return logf128(x); }
inline _Float128 wide_tanh(_Float128 x) { return tanhf128(x); }

}  // namespace standin

// add, sub, mul, mad, fma, div, rem, abs, neg, min, max, sqrt, rcp, the approximations, dp4a.
#include <algorithm>
#include <cfenv>

#include "lanes.h"
#include "operations.h"
#include "types.h"

namespace assay::cuda::ptx {
namespace {

using Parts = std::vector<std::string_view>;

bool has(const Parts& parts, std::string_view modifier) {
  return std::find(parts.begin(), parts.end(), modifier) != parts.end();
}
// Whether what stands between the name and the type is one of these.
bool has_only(const Parts& parts, std::initializer_list<std::string_view> modifiers) {
  return std::all_of(parts.begin() + 1, parts.end() - 1, [&](std::string_view part) {
    return std::find(modifiers.begin(), modifiers.end(), part) != modifiers.end();
  });
}

template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// Integers: modulo 2^bits, through unsigned numbers of 64 bits, which have no overflow.
template <class T>
T wrapped(std::uint64_t x) {
  return static_cast<T>(x);
}
template <class T>
std::uint64_t bits(T x) {
  return static_cast<std::uint64_t>(x);
}

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return wrapped<T>(bits(a) + bits(b));
  else
    return a + b;
}
template <class T>
T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return wrapped<T>(bits(a) - bits(b));
  else
    return a - b;
}
template <class T>
T mul(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return wrapped<T>(bits(a) * bits(b));
  else
    return a * b;
}
template <class T>
T mul_high(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b) >> (8 * sizeof(T)));
}
template <class T>
std::uint64_t mul_wide(T a, T b) {
  return static_cast<std::uint64_t>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <class T>
T mad(T a, T b, T c) {
  return add(mul(a, b), c);
}
template <class T>
T mad_high(T a, T b, T c) {
  return add(mul_high(a, b), c);
}
template <class T>
std::uint64_t mad_wide(T a, T b, std::uint64_t c) {
  return mul_wide(a, b) + c;
}
template <class T>
T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}
// What divides by 0, or overflows, is unspecified: all bits.
template <class T>
T div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return wrapped<T>(0 - bits(a));
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}
template <class T>
T rem(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}
template <class T>
T negated(T a) {
  if constexpr (std::is_integral_v<T>)
    return wrapped<T>(0 - bits(a));
  else
    return -a;
}
template <class T>
T absolute(T a) {
  if constexpr (std::is_integral_v<T>)
    return a < 0 ? negated(a) : a;
  else
    return std::fabs(a);
}
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}
template <class T>
T smaller_nan(T a, T b) {
  return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : smaller(a, b);
}
template <class T>
T larger_nan(T a, T b) {
  return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : larger(a, b);
}
template <class T>
T root(T a) {
  return std::sqrt(a);
}
template <class T>
T reciprocal(T a) {
  return T(1) / a;
}

// Sign of the first on the second.
template <class T>
T copied_sign(T sign, T value) {
  return std::copysign(value, sign);
}

// Subnormal numbers as zero.
template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x;
}
template <bool ftz, double (*op)(double)>
float approximate(float x) {
  const auto y = static_cast<float>(op(static_cast<double>(ftz ? flushed(x) : x)));
  return ftz ? flushed(y) : y;
}
double power_of_two(double x) { return std::exp2(x); }
double logarithm(double x) { return std::log2(x); }
double one_over(double x) { return 1 / x; }
double one_over_root(double x) { return 1 / std::sqrt(x); }
double square_root(double x) { return std::sqrt(x); }
double hyperbolic_tangent(double x) { return std::tanh(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
template <bool ftz>
float quotient(float a, float b) {
  return ftz ? flushed(flushed(a) / flushed(b)) : a / b;
}
// Of f64 with .ftz the upper half alone is read, and is a result.
double upper_half(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0xffffffff00000000u);
}
template <double (*op)(double)>
double approximate_half(double x) {
  const double y = op(flushed(upper_half(x)));
  return y != y ? std::bit_cast<double>(std::uint64_t{0x7fffffff00000000u}) : flushed(upper_half(y));
}

template <class A, class B>
std::int32_t four_products(std::int32_t a, std::int32_t b, std::int32_t c) {
  std::uint32_t sum = static_cast<std::uint32_t>(c);
  for (int byte = 0; byte < 4; ++byte)
    sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<A>(a >> 8 * byte)) *
                                      static_cast<std::int32_t>(static_cast<B>(b >> 8 * byte)));
  return static_cast<std::int32_t>(sum);
}

// In another direction of rounding, which `control` holds. Operands are volatile, so that nothing is computed outside.
template <Handler handler>
void rounded(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  const int before = std::fegetround();
  std::fesetround(i.control == 1 ? FE_TOWARDZERO : i.control == 2 ? FE_DOWNWARD : FE_UPWARD);
  handler(warp, i, lanes);
  std::fesetround(before);
}
template <class T>
[[gnu::noinline]] T opaque_add(T a, T b) {
  return a + b;
}
template <class T>
[[gnu::noinline]] T opaque_sub(T a, T b) {
  return a - b;
}
template <class T>
[[gnu::noinline]] T opaque_mul(T a, T b) {
  return a * b;
}

Handler approximation(const Parts& p) {
  if (!has_only(p, {"approx", "full", "ftz"})) return nullptr;
  const bool ftz = has(p, "ftz");
  const auto f32 = [&]<double (*op)(double)>() -> Handler {
    return ftz ? best_unary<float, float, &approximate<true, op>>()
               : best_unary<float, float, &approximate<false, op>>();
  };
  if (p.back() == "f64") {
    if (p[0] == "rcp") return ftz ? best_unary<double, double, &approximate_half<&one_over>>() : nullptr;
    if (p[0] == "rsqrt")
      return ftz ? best_unary<double, double, &approximate_half<&one_over_root>>()
                 : best_unary<double, double, &one_over_root>();
    return nullptr;
  }
  if (p.back() != "f32") return nullptr;
  if (p[0] == "ex2") return f32.operator()<&power_of_two>();
  if (p[0] == "lg2") return f32.operator()<&logarithm>();
  if (p[0] == "rcp") return f32.operator()<&one_over>();
  if (p[0] == "rsqrt") return f32.operator()<&one_over_root>();
  if (p[0] == "sqrt") return f32.operator()<&square_root>();
  if (p[0] == "tanh") return f32.operator()<&hyperbolic_tangent>();
  if (p[0] == "sin") return f32.operator()<&sine>();
  if (p[0] == "cos") return f32.operator()<&cosine>();
  if (p[0] == "div")
    return ftz ? best_binary<float, float, &quotient<true>>() : best_binary<float, float, &quotient<false>>();
  return nullptr;
}

template <class T>
Handler of_floats(const Parts& p, Instruction& i) {
  i.control = has(p, "rz") ? 1 : has(p, "rm") ? 2 : has(p, "rp") ? 3 : 0;
  const bool nearest = i.control == 0;
  const bool is_extreme = p[0] == "min" || p[0] == "max";
  if (p.size() > 3 || !(is_extreme ? has_only(p, {"NaN"}) : has_only(p, {"rn", "rz", "rm", "rp"})))
    return nullptr;
  if (p[0] == "add") return nearest ? best_binary<T, T, &add<T>>() : &rounded<&binary<T, T, &opaque_add<T>>>;
  if (p[0] == "sub") return nearest ? best_binary<T, T, &sub<T>>() : &rounded<&binary<T, T, &opaque_sub<T>>>;
  if (p[0] == "mul") return nearest ? best_binary<T, T, &mul<T>>() : &rounded<&binary<T, T, &opaque_mul<T>>>;
  if (p[0] == "fma")
    return nearest ? best_ternary<T, T, T, &fused<T>>() : &rounded<&ternary<T, T, T, &fused<T>>>;
  if (p[0] == "abs") return best_unary<T, T, &absolute<T>>();
  if (p[0] == "neg") return best_unary<T, T, &negated<T>>();
  if (p[0] == "min")
    return has(p, "NaN") ? best_binary<T, T, &smaller_nan<T>>() : best_binary<T, T, &smaller<T>>();
  if (p[0] == "max")
    return has(p, "NaN") ? best_binary<T, T, &larger_nan<T>>() : best_binary<T, T, &larger<T>>();
  if (p[0] == "copysign") return best_binary<T, T, &copied_sign<T>>();
  if (!nearest) return nullptr;
  if (p[0] == "div") return best_binary<T, T, &div<T>>();
  if (p[0] == "sqrt") return best_unary<T, T, &root<T>>();
  if (p[0] == "rcp") return best_unary<T, T, &reciprocal<T>>();
  return nullptr;
}

template <class T>
Handler of_integers(const Parts& p) {
  if (p[0] == "mul" && p.size() == 3 && p[1] == "lo") return best_binary<T, T, &mul<T>>();
  if (p[0] == "mad" && p.size() == 3 && p[1] == "lo") return best_ternary<T, T, T, &mad<T>>();
  if constexpr (sizeof(T) > 1) {
    if (p[0] == "mul" && p.size() == 3 && p[1] == "hi") return best_binary<T, T, &mul_high<T>>();
    if (p[0] == "mad" && p.size() == 3 && p[1] == "hi") return best_ternary<T, T, T, &mad_high<T>>();
  }
  if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
    if (p[0] == "mul" && p.size() == 3 && p[1] == "wide")
      return best_binary<std::uint64_t, T, &mul_wide<T>>();
    if (p[0] == "mad" && p.size() == 3 && p[1] == "wide")
      return best_ternary<std::uint64_t, T, std::uint64_t, &mad_wide<T>>();
  }
  if (p.size() != 2) return nullptr;
  if (p[0] == "add") return best_binary<T, T, &add<T>>();
  if (p[0] == "sub") return best_binary<T, T, &sub<T>>();
  if (p[0] == "div") return best_binary<T, T, &div<T>>();
  if (p[0] == "rem") return best_binary<T, T, &rem<T>>();
  if (p[0] == "min") return best_binary<T, T, &smaller<T>>();
  if (p[0] == "max") return best_binary<T, T, &larger<T>>();
  if (p[0] == "neg") return best_unary<T, T, &negated<T>>();
  if (p[0] == "abs") return best_unary<T, T, &absolute<T>>();
  return nullptr;
}

}  // namespace

Handler arithmetic_handler(const Parts& p, Instruction& i) {
  if (p[0] == "dp4a") {
    const auto known = [](std::string_view type) { return type == "s32" || type == "u32"; };
    if (p.size() != 3 || !known(p[1]) || !known(p[2])) return nullptr;
    const bool a = p[1] == "s32", b = p[2] == "s32";
    using S = std::int8_t;
    using U = std::uint8_t;
    using I = std::int32_t;
    if (a)
      return b ? best_ternary<I, I, I, &four_products<S, S>>()
               : best_ternary<I, I, I, &four_products<S, U>>();
    return b ? best_ternary<I, I, I, &four_products<U, S>>() : best_ternary<I, I, I, &four_products<U, U>>();
  }
  if (has(p, "approx") || has(p, "full")) return approximation(p);
  if (has(p, "ftz")) return nullptr;
  const auto floats = of_float(p.back(), [&](auto t) { return of_floats<typename decltype(t)::type>(p, i); });
  if (floats != nullptr) return floats;
  return of_integer(p.back(), [&](auto t) { return of_integers<typename decltype(t)::type>(p); });
}

}  // namespace assay::cuda::ptx

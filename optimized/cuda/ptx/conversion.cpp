// cvt, mov, cvta.
#include <algorithm>
#include <cfenv>

#include "lanes.h"
#include "operations.h"
#include "types.h"

namespace assay::cuda::ptx {
namespace {

using Parts = std::vector<std::string_view>;

float widened(Binary16 x) { return __half2float(std::bit_cast<__half>(x)); }
float widened(Bfloat16 x) { return emulation::float_of(static_cast<std::uint32_t>(x.bits) << 16); }
template <class R>
R narrowed(float x) {
  if constexpr (std::is_same_v<R, Binary16>) return {emulation::binary16_bits(x)};
  if constexpr (std::is_same_v<R, Bfloat16>) return {emulation::bfloat16_bits(x)};
}

enum Rounding : std::uint8_t { nearest, zero, down, up };

template <class T>
T integral(T x, std::uint8_t rounding) {
  if (rounding == zero) return std::trunc(x);
  if (rounding == down) return std::floor(x);
  if (rounding == up) return std::ceil(x);
  return std::nearbyint(x);
}

// To the nearest end where the integer has no such number. NaN: 0, or the lowest bit pattern of 64 bits (PTX ISA, cvt).
template <class R, class A>
R to_integer(A a, std::uint8_t rounding) {
  if (a != a) {
    constexpr bool wide = sizeof(R) == 8 || sizeof(A) == 8;
    return wide ? static_cast<R>(std::uint64_t{1} << (8 * sizeof(R) - 1)) : R{0};
  }
  const double x = static_cast<double>(integral(a, rounding));
  constexpr int digits = std::numeric_limits<R>::digits;
  const double above = std::ldexp(1.0, digits);
  if (x >= above) return std::numeric_limits<R>::max();
  if (x <= (std::is_signed_v<R> ? -above : 0.0)) return std::numeric_limits<R>::min();
  return static_cast<R>(x);
}

// Between integers with .sat, to the nearest end.
template <class R, class A>
R clamped(A a) {
  if (std::is_signed_v<A> && a < 0) {
    if (!std::is_signed_v<R>) return 0;
    const auto low = static_cast<std::int64_t>(std::numeric_limits<R>::min());
    return static_cast<R>(std::max(static_cast<std::int64_t>(a), low));
  }
  return static_cast<R>(
      std::min(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(std::numeric_limits<R>::max())));
}

// Floating-point numbers with .sat: from 0 to 1, NaN as 0.
template <class T>
T saturated(T x) {
  return x > 0 ? std::min(x, T(1)) : T(0);
}

template <class A>
float of_any(A a) {
  if constexpr (std::is_class_v<A>)
    return widened(a);
  else
    return static_cast<float>(a);
}

template <class R, class A, bool saturate>
void convert(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *from = warp.row(i.row[1]);
  const std::uint8_t rounding = i.control & 3;
  const bool whole = (i.control & 4) != 0;  // to a whole number
  in_vectors(lanes, [=](std::uint32_t l) {
    const A a = get<A>(from[l]);
    if constexpr (std::is_integral_v<R> && std::is_integral_v<A>) {
      d[l] = put<R>(saturate ? clamped<R>(a) : static_cast<R>(a));
    } else if constexpr (std::is_integral_v<R>) {
      if constexpr (std::is_class_v<A>)
        d[l] = put<R>(to_integer<R>(widened(a), rounding));
      else
        d[l] = put<R>(to_integer<R>(a, rounding));
    } else if constexpr (std::is_class_v<R>) {
      const float x = of_any(a);
      d[l] = put<R>(narrowed<R>(saturate ? saturated(x) : x));
    } else {
      R r;
      if constexpr (std::is_class_v<A>)
        r = static_cast<R>(widened(a));
      else
        r = static_cast<R>(a);
      if (whole) r = integral(r, rounding);
      if (saturate) r = saturated(r);
      d[l] = put<R>(r);
    }
  });
}

// In a direction of rounding other than to nearest.
template <Handler handler>
void directed(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  const int before = std::fegetround();
  std::fesetround((i.control & 3) == zero   ? FE_TOWARDZERO
                  : (i.control & 3) == down ? FE_DOWNWARD
                                            : FE_UPWARD);
  handler(warp, i, lanes);
  std::fesetround(before);
}

template <class F>
Handler of_any_type(std::string_view name, F f) {
  if (name == "f16") return f(Type<Binary16>{});
  if (name == "bf16") return f(Type<Bfloat16>{});
  return of_number(name, f);
}

Handler conversion(const Parts& p, Instruction& i) {
  if (p.size() < 3) return nullptr;
  bool saturate = false, to_whole = false;
  for (std::size_t k = 1; k + 2 < p.size(); ++k) {
    const std::string_view m = p[k];
    if (m == "sat") {
      saturate = true;
    } else if (m.size() >= 2 && m.size() <= 3 && m[0] == 'r' &&
               std::string_view("nzmp").find(m[1]) != std::string_view::npos &&
               (m.size() == 2 || m[2] == 'i')) {
      i.control = m[1] == 'n' ? nearest : m[1] == 'z' ? zero : m[1] == 'm' ? down : up;
      to_whole = m.size() == 3;
    } else {
      return nullptr;
    }
  }
  const bool is_directed = i.control != nearest && !to_whole;
  if (to_whole) i.control |= 4;
  return of_any_type(p[p.size() - 2], [&](auto r) {
    return of_any_type(p.back(), [&](auto a) -> Handler {
      using R = typename decltype(r)::type;
      using A = typename decltype(a)::type;
      constexpr bool half_of_wide =
          std::is_class_v<R> && (std::is_same_v<A, double> || std::is_integral_v<A>);
      if constexpr (half_of_wide) {
        return nullptr;  // would be rounded twice
      } else {
        if (is_directed) {
          if (std::is_class_v<R> || std::is_integral_v<R>) return nullptr;
          return saturate ? &directed<&convert<R, A, true>> : &directed<&convert<R, A, false>>;
        }
        if ((to_whole && std::is_class_v<R>) || (saturate && std::is_same_v<R, Bfloat16>)) return nullptr;
        if (saturate) return &convert<R, A, true>;
        constexpr bool has_vectors =  // others: not with GCC 12
            std::is_integral_v<A> && (std::is_integral_v<R> || std::is_same_v<R, float>);
        if constexpr (has_vectors) return best<&convert<R, A, false>>();
        return &convert<R, A, false>;
      }
    });
  });
}

template <class T>
void copy(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1]);
  in_vectors(lanes, [=](std::uint32_t l) { d[l] = put<T>(get<T>(a[l])); });
}

// mov.b64 d, {a, b} and mov.b64 {d, e}, a: `control` is how many parts the vector has, negative for the first form, with
// as many bits as the type has. Which of both it is shows in the operands, so that the linker says (vector operands).
template <class T>
void pack(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  const std::uint32_t count = i.vector, width = 8 * sizeof(T) / count;
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  for (std::uint32_t k = 0; k < count; ++k) {
    std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1 + k]);
    in_vectors(lanes, [=](std::uint32_t l) { d[l] = (k == 0 ? 0 : d[l]) | (a[l] & mask) << k * width; });
  }
}
template <class T>
void unpack(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  const std::uint32_t count = i.vector, width = 8 * sizeof(T) / count;
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  for (std::uint32_t k = count; k-- > 0;) {
    std::uint64_t *d = warp.row(i.row[k]), *a = warp.row(i.row[count]);
    in_vectors(lanes, [=](std::uint32_t l) {
      const std::uint64_t bits = a[l];
      d[l] = bits >> k * width & mask;
    });
  }
}

template <std::uint64_t window, bool add>
void to_window(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1]);
  in_vectors(lanes, [=](std::uint32_t l) { d[l] = add ? a[l] | window : a[l] & ~window; });
}

}  // namespace

Handler conversion_handler(const Parts& p, Instruction& i) {
  if (p[0] == "cvt") return conversion(p, i);
  if (p[0] == "mov" && p.size() == 2) {
    if (p[1] == "pred") return best<&copy<std::uint8_t>>();
    return of_number(p[1], [](auto t) -> Handler { return best<&copy<Bits<typename decltype(t)::type>>>(); });
  }
  if (p.size() == 2 && (p[0] == "pack" || p[0] == "unpack")) {  // the linker's names of mov with a vector
    const bool packs = p[0] == "pack";
    return of_integer(p[1], [&](auto t) -> Handler {
      using T = typename decltype(t)::type;
      if ((i.vector != 2 && i.vector != 4) || sizeof(T) < i.vector) return nullptr;
      return packs ? best<&pack<T>>() : best<&unpack<T>>();
    });
  }
  if (p[0] != "cvta") return nullptr;
  const bool to = p.size() == 4 && p[1] == "to";
  if ((!to && p.size() != 3) || (p.back() != "u64" && p.back() != "u32")) return nullptr;
  const std::string_view space = p[p.size() - 2];
  if (space == "global" || space == "param") return best<&copy<std::uint64_t>>();
  if (space == "shared")
    return to ? best<&to_window<kSharedWindow, false>>() : best<&to_window<kSharedWindow, true>>();
  if (space == "local")
    return to ? best<&to_window<kLocalWindow, false>>() : best<&to_window<kLocalWindow, true>>();
  return nullptr;
}

}  // namespace assay::cuda::ptx

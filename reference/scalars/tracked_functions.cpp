// Elementary functions of Tracked numbers: the image of the set, the function's declared error, the reference's own.
#include <optional>

#include "tracked.h"
#include "tracked_nonfinite.h"

namespace assay {
namespace {

template <class V>
V evaluate(Function f, const V& x) {
  switch (f) {
    case Function::exp:
      return exp(x);
    case Function::log:
      return log(x);
    case Function::tanh:
      return tanh(x);
    case Function::erf:
      return erf(x);
    case Function::sin:
      return sin(x);
    case Function::cos:
      return cos(x);
    case Function::asin:
      return asin(x);
    case Function::acos:
      return acos(x);
    case Function::atan:
      return atan(x);
    case Function::exp2:
      return exp2(x);
    case Function::log2:
      return log2(x);
    case Function::expm1:
      return expm1(x);
    case Function::log1p:
      return log1p(x);
    case Function::pow:
    case Function::atan2:
      break;  // of two arguments, below
  }
  return x;
}

struct Domain {
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
};

Domain domain(Function f) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (f == Function::log || f == Function::log2) return {0, infinity};
  if (f == Function::log1p) return {-1, infinity};
  if (f == Function::asin || f == Function::acos) return {-1, 1};
  return {};
}

bool monotone(Function f) { return f != Function::sin && f != Function::cos; }

// Arguments whose function values are rational and computed exactly by every libm of double and by MPFR.
bool exact_at(Function f, double x) {
  if (std::isinf(x)) return f != Function::atan;
  if (f == Function::log || f == Function::log2 || f == Function::acos) return x == 1;
  return x == 0;
}

// Relative error of the reference's own functions. glibc's manual, "Known Maximum Errors in Math Functions", states at
// most 2 ulp (each at most 2^-52) for those of double on x86-64 and aarch64; MPFR rounds correctly.
template <class V>
constexpr typename Carrier<V>::Bound kOwnError = 8 * Carrier<V>::kUnit;

// The result y of a function whose argument may have moved it by `spread`.
template <class V>
Tracked<V> with_accuracy(const V& y, typename Carrier<V>::Bound spread, bool exactly,
                         const Accuracy& accuracy) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Arithmetic& a = arithmetic();
  Tracked<V> r = Tracked<V>::exact(y);
  if (!C::finite(y)) return spread == 0 ? r : Tracked<V>::anything(y);
  if (!exactly) r.error = detail::inflate(spread + r.magnitude * kOwnError<V>) + C::kLeast;

  if (accuracy.ulp <= 0.5 && accuracy.absolute == 0) {
    r.pending = true;  // correctly rounded: like any other operation
  } else {
    const Format& f = a.compute.format;
    const Bound size = r.magnitude + r.error;
    if (size == std::numeric_limits<Bound>::infinity()) return Tracked<V>::anything(y);
    const int exponent = std::max(detail::exponent_of(size), f.min_exponent);
    const Bound ulp = C::power(exponent - f.precision + 1);
    r.error = detail::inflate(r.error + static_cast<Bound>(accuracy.ulp) * ulp +
                              static_cast<Bound>(accuracy.absolute));
    detail::note_overflow(r, a.compute);
  }
  const double tiny = std::max(a.ftz ? a.tiny : 0, a.compute.format.min_normal);
  if (a.ftz || (a.daz && !r.pending)) detail::note_flush(r, static_cast<Bound>(tiny));
  if (r.error != 0) r.grid = kNoGrid;
  return r;
}

// The derivative of a function near x: at most |f'(x)|, and how fast its logarithm changes, at most, |f''/f'|, over the
// arguments that are nearer to x than half of the way to where it is infinite.
template <class Bound>
struct Slope {
  Bound at_x;
  Bound change;
};

constexpr double kLog2 = 0.693147180559945309;

// Covers the roundings of slopes, whose worst is that of a square in the exponent.
constexpr double kSlopeSlack = 1 + 0x1p-30;

// 1 - y^2, with what the error of y makes of it
template <class V>
typename Carrier<V>::Bound complement(const V& y) {
  using C = Carrier<V>;
  return (C::size(V(1) - abs(y)) + kOwnError<V>)*(1 + C::size(y));
}

// Of a function with f(x) = y, up to kOwnError.
template <class V>
Slope<typename Carrier<V>::Bound> slope(Function f, const V& x, const V& y) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const auto reciprocal = [](const V& d) { return 1 / C::least_size(d); };
  switch (f) {
    case Function::exp:
      return {C::size(y), 1};
    case Function::exp2:
      return {C::size(y) * Bound(kLog2), 1};
    case Function::expm1:
      return {C::size(V(1) + y) + C::size(y) * kOwnError<V>, 1};
    case Function::log:
      return {reciprocal(x), 2 * reciprocal(x)};
    case Function::log2:
      return {reciprocal(x) / Bound(kLog2), 2 * reciprocal(x)};
    case Function::log1p:
      return {reciprocal(V(1) + x), 2 * reciprocal(V(1) + x)};
    case Function::tanh:
      return {complement(y), 2};
    case Function::erf: {
      const Bound size = C::least_size(x);
      return {std::exp(-size * size) * Bound(1.12837916709551257), 2 * C::size(x) + 1};
    }
    case Function::asin:
    case Function::acos:
      return {std::sqrt(reciprocal(V(1) - abs(x)) / (1 + C::least_size(x))), reciprocal(V(1) - abs(x))};
    case Function::atan:
      return {1 / (1 + C::least_size(x) * C::least_size(x)), 1};
    default:
      return {0, std::numeric_limits<Bound>::infinity()};
  }
}

// How near a function is taken to be as steep everywhere as at x: change * reach at most this. The bound is then at most
// 2^-18 above what the function does.
constexpr double kNear = 0x1p-20;

// Adds the function value at an infinity that the argument may be.
template <class V>
void include(Tracked<V>& r, const Tracked<V>& alternative) {
  r = hull(r, closed(alternative));
}

template <class V>
Tracked<V> image(Function f, const Tracked<V>& x) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Accuracy& accuracy = arithmetic().of(f);
  const V y = C::limited(evaluate(f, x.value));
  const bool exactly = x.error == 0 && exact_at(f, static_cast<double>(x.value));
  if (x.error == 0) return with_accuracy<V>(y, Bound(0), exactly, accuracy);
  if (!C::finite(x.value) || C::nan(y) || x.error == std::numeric_limits<Bound>::infinity())
    return Tracked<V>::anything(y);

  const Bound reach = detail::inflate(x.error) + 2 * C::size(x.value) * C::kUnit + C::kLeast;
  if (!monotone(f)) {  // |f'|, |f''| and |f| are at most one
    const Bound taylor = (std::sqrt(complement(y)) + reach / 2) * Bound(kSlopeSlack);
    return with_accuracy<V>(y, std::min(reach * std::min(taylor, Bound(1)), Bound(2)), false, accuracy);
  }
  const auto [at_x, change] = slope(f, x.value, y);
  if (change * reach <= Bound(kNear)) {  // the mean value theorem, without two further evaluations
    const Bound steepest = at_x * (1 + 2 * change * reach) * Bound(kSlopeSlack) + C::kLeast;
    return with_accuracy<V>(y, reach * steepest, false, accuracy);
  }
  const Domain d = domain(f);
  V low = x.value - C::to_value(reach);
  V high = x.value + C::to_value(reach);
  const bool leaves = low < V(d.least) || high > V(d.greatest);
  if (low < V(d.least)) low = V(d.least);
  if (high > V(d.greatest)) high = V(d.greatest);
  const V at_low = C::limited(evaluate(f, low));
  const V at_high = C::limited(evaluate(f, high));
  if (!C::finite(y) || !C::finite(at_low) || !C::finite(at_high)) return Tracked<V>::anything(y);
  const Bound spread = detail::inflate(std::max(C::size(at_high - y), C::size(y - at_low)));
  // The ends are computed with the reference's own error too.
  const Bound ends = std::max(C::size(at_low), C::size(at_high)) * kOwnError<V>;
  Tracked<V> r = with_accuracy<V>(y, spread + ends, false, accuracy);
  if (leaves) r.may_be |= kMayBeNan;
  return r;
}

// A function near a number with an error: its slope there, and what the straight line may be off by within the error. Nothing where
// they are not known: adjoint.md.
template <class Bound>
struct Line {
  SlopeRange slope;
  Bound off;
};
template <class V>
std::optional<Line<typename Carrier<V>::Bound>> line_near(Function f, const Tracked<V>& a, const V& y) {
  if constexpr (std::is_same_v<V, double>) {
    constexpr double kFar = 0.5;
    const double reach = detail::inflate(a.error) + 2 * a.magnitude * Carrier<V>::kUnit + Carrier<V>::kLeast;
    if (!std::isfinite(y) || !std::isfinite(reach)) return {};
    if (f == Function::sin || f == Function::cos) {  // |f''| is at most one
      const double s = f == Function::sin ? std::cos(a.value) : -std::sin(a.value);
      return Line<double>{{s, 0x1p-50}, detail::inflate(reach * reach / 2)};
    }
    const auto [at_x, change] = slope(f, a.value, y);
    const double moved = change * reach;
    if (!(moved <= kFar) || !std::isfinite(at_x)) return {};
    // Of 1 - y^2 and 1 + y the error is absolute.
    const bool from_one = f == Function::tanh || f == Function::expm1;
    const double known_to = at_x * 0x1p-28 + (from_one ? 0x1p-46 : 0) + Carrier<V>::kLeast;
    return Line<double>{{f == Function::acos ? -at_x : at_x, known_to},
                        detail::inflate(at_x * moved * std::exp(moved) * reach / 2) + Carrier<V>::kLeast};
  }
  return {};
}

// The equation of a function's value: what its declared error and the reference's own add to what a straight line is off by.
template <class V>
void write_function(Tracked<V>& r, std::initializer_list<Tape::Term> terms, typename Carrier<V>::Bound off,
                    const Accuracy& accuracy) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Arithmetic& a = arithmetic();
  const Format& f = a.compute.format;
  const Bound size = r.magnitude + r.error;
  Bound own = off + r.magnitude * kOwnError<V> + C::kLeast;
  if (!(size < std::numeric_limits<Bound>::infinity())) return;
  if (accuracy.ulp > 0.5 || accuracy.absolute != 0) {
    const int exponent = std::max(detail::exponent_of(size), f.min_exponent);
    own += static_cast<Bound>(accuracy.ulp) * C::power(exponent - f.precision + 1) +
           static_cast<Bound>(accuracy.absolute);
  }
  if (a.flushes) own += std::min(size, static_cast<Bound>(std::max(a.tiny, f.min_normal)));
  write_on_tape(r, terms, detail::inflate(own));
}

}  // namespace

template <class V>
Tracked<V> elementary(Function f, const Tracked<V>& x) {
  const Tracked<V> a = closed(x);
  Tracked<V> r = image(f, a);
  if (tape<V>() != nullptr && a.error != 0)
    if (const auto line = line_near(f, a, r.value))
      write_function<V>(r, {{symbol_on_tape(a), line->slope}}, line->off, arithmetic().of(f));
  if (a.magnitude == 0) r.free_sign = a.free_sign;
  if (a.may_be == 0) return r;
  r = closed(r);
  const auto at = [&](double infinity) { return image(f, Tracked<V>::exact(V(infinity))); };
  const double infinity = std::numeric_limits<double>::infinity();
  if ((a.may_be & kMayBePositiveInfinity) != 0) include(r, at(infinity));
  if ((a.may_be & kMayBeNegativeInfinity) != 0) include(r, at(-infinity));
  if ((a.may_be & kMayBeNan) != 0) r.may_be |= kMayBeNan;
  return r;
}

template <class V>
Tracked<V> sqrt(const Tracked<V>& x) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Tracked<V> a = closed(x);
  const V y = sqrt(a.value);
  const bool or_infinite = (a.may_be & kMayBePositiveInfinity) != 0;
  const bool or_nan = (a.may_be & (kMayBeNegativeInfinity | kMayBeNan)) != 0;
  Tracked<V> r = Tracked<V>::exact(y);
  if (!C::finite(a.value) || C::nan(y)) {
    // A set below zero has no roots, but what lies near it may be read as zero.
    const bool below = C::finite(a.value) && a.may_be == 0 &&
                       C::size(a.value) > 2 * a.error + Bound(arithmetic().compute.format.min_normal);
    if (a.error != 0 && !below) return Tracked<V>::anything(y);
    if (or_infinite && C::nan(y)) r.may_be |= kMayBePositiveInfinity;
    if (or_nan && !C::nan(y)) r.may_be |= kMayBeNan;
    return r;
  }
  r.pending = true;
  r.free_sign = a.free_sign;
  const auto bits = [](const V& v) { return C::exponent(v) - C::grid(v) + 1; };
  const bool exactly = a.error == 0 && (a.magnitude == 0 || (2 * bits(y) <= C::kBits && y * y == a.value));
  if (!exactly) r.error = detail::inflate(r.magnitude * 2 * C::kUnit) + C::kLeast;
  if (a.error != 0) {
    const Bound reach = detail::inflate(a.error) + 2 * a.magnitude * C::kUnit;
    const V low = a.value - C::to_value(reach);
    const V at_low = low < V{} ? V{} : sqrt(low);
    const V at_high = sqrt(V(a.value + C::to_value(reach)));
    if (!C::finite(at_high)) return Tracked<V>::anything(y);
    r.error += detail::inflate(std::max(C::size(at_high - y), C::size(y - at_low)) +
                               C::size(at_high) * 2 * C::kUnit);
    if (low < V{}) r.may_be |= kMayBeNan;
  }
  const Bound of_reference = r.magnitude * 2 * C::kUnit + C::kLeast;
  const auto extra = static_cast<Bound>(arithmetic().sqrt_extra * arithmetic().compute.format.unit);
  const Bound declared = detail::inflate(detail::times(extra, r.magnitude + r.error));
  r.error += declared;
  if (r.error != 0) r.grid = kNoGrid;
  detail::write_root(r, a, detail::inflate(declared + of_reference));
  if (or_infinite) r.may_be |= kMayBePositiveInfinity;
  if (or_nan) r.may_be |= kMayBeNan;
  return r;
}

template <class V>
Tracked<V> pow(const Tracked<V>& x, const Tracked<V>& y) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Tracked<V> a = closed(x);
  const Tracked<V> b = closed(y);
  const Accuracy& accuracy = arithmetic().of(Function::pow);
  const V value = C::limited(pow(a.value, b.value));
  if ((a.may_be | b.may_be) != 0) return Tracked<V>::anything(value);
  if (a.error == 0 && b.error == 0) {
    // 1, even of NaN: IEEE 754-2019, 9.2.1. Of 0, 1 and -1 the powers are these numbers, and infinities.
    const bool exactly = b.value == V{} || a.value == V{} || abs(a.value) == V(1);
    return with_accuracy<V>(value, Bound(0), exactly, accuracy);
  }
  const Bound reach_a = detail::inflate(a.error) + 2 * a.magnitude * C::kUnit;
  const Bound reach_b = detail::inflate(b.error) + 2 * b.magnitude * C::kUnit;
  const V low = a.value - C::to_value(reach_a);
  // An exponent that is no number gives the same for all positive x on one side of 1.
  if (b.error == 0 && !C::finite(b.value) && C::finite(a.value) && low > V{} &&
      (low > V(1) || a.value + C::to_value(reach_a) < V(1)))
    return with_accuracy<V>(value, Bound(0), true, accuracy);
  // What is no number above 0 has one power for all exponents between two integers: 0, an infinity or NaN.
  if (a.error == 0 && !(C::finite(a.value) && a.value > V{}) && C::finite(b.value) && b.error < Bound(0.5)) {
    const V least = b.value - C::to_value(reach_b), greatest = b.value + C::to_value(reach_b);
    if (floor(least) == floor(greatest) && !(floor(least) == least))
      return with_accuracy<V>(value, Bound(0), true, accuracy);
  }
  // Surely negative: NaN for what is no integer, else the power of the size, with the sign of an odd one.
  if (b.error == 0 && C::finite(b.value) && C::finite(a.value) && a.value + C::to_value(reach_a) < V{}) {
    if (!(floor(b.value) == b.value)) return with_accuracy<V>(value, Bound(0), true, accuracy);
    const V half = b.value * V(0.5);
    const Tracked<V> of_size = pow(-a, b);
    return floor(half) == half ? of_size : -of_size;
  }
  if (!(low > V{}) || C::nan(value) || !C::finite(a.value) || !C::finite(b.value))
    return Tracked<V>::anything(value);
  // log x^y moves by at most this; where that is little, x^y moves in proportion.
  const Bound relative = reach_a / C::least_size(a.value);
  const V above_one = a.value - V(1);
  const Bound logarithm = C::size(above_one) < Bound(0.5) ? std::log1p(C::signed_size(above_one))
                                                          : std::log(C::signed_size(a.value));
  const Bound moved =
      (reach_b * std::fabs(logarithm) + (b.magnitude + reach_b) * relative * (1 + 2 * relative)) *
          Bound(kSlopeSlack) +
      C::kLeast;
  if (C::finite(value) && relative <= Bound(kNear) && moved <= Bound(kNear))
    return with_accuracy<V>(value, detail::inflate(C::size(value) * moved * (1 + moved)), false, accuracy);
  // For positive x, x^y is monotone in x and in y: its extremes lie at the corners.
  Bound spread = 0;
  bool infinite = true;  // all of them: too large for the carrier, and so for every format that it serves
  for (const V& base : {low, V(a.value + C::to_value(reach_a))})
    for (const V& exponent : {V(b.value - C::to_value(reach_b)), V(b.value + C::to_value(reach_b))}) {
      const V corner = C::limited(pow(base, exponent));
      infinite = infinite && !C::finite(corner);
      spread = std::max(spread, C::size(corner - value) + C::size(corner) * kOwnError<V>);
    }
  if (infinite) return with_accuracy<V>(value, Bound(0), true, accuracy);
  if (!(spread < std::numeric_limits<Bound>::infinity())) return Tracked<V>::anything(value);
  return with_accuracy<V>(value, detail::inflate(spread), false, accuracy);
}

template <class V>
Tracked<V> atan2(const Tracked<V>& y, const Tracked<V>& x) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Tracked<V> a = closed(y);
  const Tracked<V> b = closed(x);
  const Accuracy& accuracy = arithmetic().of(Function::atan2);
  const V angle = atan2(a.value, b.value);
  constexpr auto kTurn = Bound(6.2831853071795865);
  if (a.error == 0 && b.error == 0 && (a.may_be | b.may_be) == 0) {
    const bool exactly = a.value == V{} && !C::negative(b.value) && !C::nan(b.value);  // a zero
    Tracked<V> r = with_accuracy<V>(angle, Bound(0), exactly, accuracy);
    if (b.value == V{} && a.value == V{} && b.free_sign) r.error += kTurn / 2;
    if (a.free_sign && a.value == V{}) r.free_sign = true, r.error += exactly ? 0 : kTurn;
    if (r.error != 0) r.grid = kNoGrid;
    r.error = std::min(r.error, kTurn * Bound(1.25));  // no angle is farther from another one
    return r;
  }
  const V value = C::nan(angle) ? V{} : angle;
  const auto anywhere = [&] {
    // Of what may be any number, with all that is said of a point anywhere, around its own angle.
    constexpr Bound kInfinite = std::numeric_limits<Bound>::infinity();
    const bool any = (a.may_be | b.may_be) != 0 || !(a.error < kInfinite) || !(b.error < kInfinite);
    Tracked<V> r = with_accuracy<V>(value, any ? 3 * kTurn : kTurn, false, accuracy);
    r.free_sign = true;
    if (C::nan(angle) || ((a.may_be | b.may_be) & kMayBeNan) != 0) r.may_be |= kMayBeNan;
    return r;
  };
  if ((a.may_be | b.may_be) != 0 || !C::finite(a.value) || !C::finite(b.value)) return anywhere();
  // The point moves by at most this, seen from 0 at least so far away.
  const Bound moves = detail::inflate(a.error + b.error);
  const Bound away = std::max(C::least_size(a.value), C::least_size(b.value));
  const bool meets_cut = !(C::least_size(a.value) > 2 * a.error) && b.value < V(C::to_value(2 * b.error));
  if (meets_cut || !(moves < away / 2)) return anywhere();
  return with_accuracy<V>(value, detail::inflate(moves / away * Bound(1.1)), false, accuracy);
}

#define ASSAY_INSTANTIATE(V)                                   \
  template Tracked<V> elementary(Function, const Tracked<V>&); \
  template Tracked<V> sqrt(const Tracked<V>&);                 \
  template Tracked<V> pow(const Tracked<V>&, const Tracked<V>&); \
  template Tracked<V> atan2(const Tracked<V>&, const Tracked<V>&);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay

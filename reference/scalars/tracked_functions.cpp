// Elementary functions of Tracked numbers: the image of the set, the function's declared error, the reference's own.
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
    if (r.magnitude + r.error >= static_cast<Bound>(a.compute.overflow))
      r.may_be |= C::negative(y) ? kMayBeNegativeInfinity : kMayBePositiveInfinity;
  }
  const auto tiny = static_cast<Bound>(std::max(a.tiny, a.compute.format.min_normal));
  if (a.ftz && r.magnitude - r.error < tiny) r.error = std::max(r.error, r.magnitude);
  if (r.error != 0) r.grid = kNoGrid;
  return r;
}

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
  if (!monotone(f)) return with_accuracy<V>(y, std::min(reach, Bound(2)), false, accuracy);  // |f'| <= 1
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

}  // namespace

template <class V>
Tracked<V> elementary(Function f, const Tracked<V>& x) {
  const Tracked<V> a = closed(x);
  Tracked<V> r = image(f, a);
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
  if (!C::finite(a.value) || C::nan(y)) {
    const bool certain = a.error == 0 && a.may_be == 0;
    return certain ? Tracked<V>::exact(y) : Tracked<V>::anything(y);
  }
  Tracked<V> r = Tracked<V>::exact(y);
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
  r.error += static_cast<Bound>(arithmetic().sqrt_extra * arithmetic().compute.format.unit) *
             (r.magnitude + r.error);
  if (r.error != 0) r.grid = kNoGrid;
  if ((a.may_be & kMayBePositiveInfinity) != 0) r.may_be |= kMayBePositiveInfinity;
  if ((a.may_be & (kMayBeNegativeInfinity | kMayBeNan)) != 0) r.may_be |= kMayBeNan;
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
    const bool exactly = b.value == V{} || a.value == V(1);  // 1, even of NaN: IEEE 754-2019, 9.2.1
    return with_accuracy<V>(value, Bound(0), exactly, accuracy);
  }
  const Bound reach_a = detail::inflate(a.error) + 2 * a.magnitude * C::kUnit;
  const Bound reach_b = detail::inflate(b.error) + 2 * b.magnitude * C::kUnit;
  const V low = a.value - C::to_value(reach_a);
  if (!C::finite(value) || !(low > V{})) return Tracked<V>::anything(value);
  // For positive x, x^y is monotone in x and in y: its extremes lie at the corners.
  Bound spread = 0;
  for (const V& base : {low, V(a.value + C::to_value(reach_a))})
    for (const V& exponent : {V(b.value - C::to_value(reach_b)), V(b.value + C::to_value(reach_b))}) {
      const V corner = C::limited(pow(base, exponent));
      if (!C::finite(corner)) return Tracked<V>::anything(value);
      spread = std::max(spread, C::size(corner - value) + C::size(corner) * kOwnError<V>);
    }
  return with_accuracy<V>(value, detail::inflate(spread), false, accuracy);
}

#define ASSAY_INSTANTIATE(V)                                   \
  template Tracked<V> elementary(Function, const Tracked<V>&); \
  template Tracked<V> sqrt(const Tracked<V>&);                 \
  template Tracked<V> pow(const Tracked<V>&, const Tracked<V>&);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)

}  // namespace assay

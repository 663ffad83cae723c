#include "tracked.h"

#include "tracked_nonfinite.h"

namespace assay {

template <class V>
Tracked<V>::Tracked(double literal) : Tracked(exact(V(literal))) {
  if (!std::isfinite(literal)) return;
  const Rounding& compute = arithmetic().compute;
  const auto max = static_cast<Bound>(compute.format.max);
  if (!detail::representable(value, grid, compute) || magnitude > max) {
    const double held = round_to(literal, compute.format);
    grid = kNoGrid;
    if (std::isfinite(held))
      error = static_cast<Bound>(std::fabs(held - literal)) * (1 + Bound(0x1p-48)) + Carrier<V>::kLeast;
    else
      may_be = literal < 0 ? kMayBeNegativeInfinity : kMayBePositiveInfinity;
  }
  if (arithmetic().flushes) detail::note_flush(*this, static_cast<Bound>(compute.format.min_normal));
}

template <class V>
Tracked<V> ScalarOps<Tracked<V>>::unusual_input(double x) {
  Tracked<V> t = Tracked<V>::exact(V(x));
  if (!std::isfinite(x)) {
    read_nonfinite() = true;
  } else if (arithmetic().daz && x != 0 && std::fabs(x) < arithmetic().compute.format.min_normal) {
    t.foreign = !detail::fits(t);
    t.error = t.magnitude;
    t.grid = kNoGrid;
  }
  return t;
}

template <class V>
Tracked<V> ScalarOps<Tracked<V>>::cast(const Tracked<V>& x, Dtype d) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Rounding to(format(d));
  Tracked<V> t = closed(x);
  const std::uint8_t infinities = t.may_be & (kMayBePositiveInfinity | kMayBeNegativeInfinity);
  if (infinities != 0 && !to.format.has_infinity)
    t.may_be = static_cast<std::uint8_t>((t.may_be & ~infinities) | kMayBeNan);
  if (!C::finite(t.value) || t.error == std::numeric_limits<Bound>::infinity()) {
    t.value = V(round_to(t.value, to.format));
    return t;
  }
  Tracked<V> r = Tracked<V>::exact(V(round_to(t.value, to.format)));
  r.may_be = t.may_be;
  r.free_sign = t.free_sign;
  if (t.error != 0) {
    const Bound reach = detail::inflate(t.error) + 2 * t.magnitude * C::kUnit;
    const double low = round_to(t.value - C::to_value(reach), to.format);
    const double high = round_to(t.value + C::to_value(reach), to.format);
    // Too large for the format, whichever of them it is.
    if (std::isinf(low) && low == high) return r;
    if (!std::isfinite(low) || !std::isfinite(high)) return Tracked<V>::anything(r.value);
    r.error = detail::inflate(std::max(C::size(V(high) - r.value), C::size(r.value - V(low))));
    if (r.error != 0) r.grid = kNoGrid;
    r.foreign =
        to.grid < arithmetic().compute.grid || to.format.precision > arithmetic().compute.format.precision;
  }
  if (C::finite(r.value) && arithmetic().flushes)
    detail::note_flush(r, static_cast<Bound>(to.format.min_normal));
  return r;
}

namespace detail {

template <class V>
void add_nonfinite(Tracked<V>& sum, const Tracked<V>& a, const Tracked<V>& b) {
  using C = Carrier<V>;
  const std::uint8_t pa = pieces(a);
  const std::uint8_t pb = pieces(b);
  const std::uint8_t extra = combine(pa, pb, [](double x, double y) { return x + y; });
  const V value = a.value + b.value;
  const double terms = a.terms + b.terms;
  if (C::finite(value)) {
    Tracked<V> x = a;
    Tracked<V> y = b;
    x.may_be = y.may_be = 0;
    add_settled(x, y);
    sum = x;
    admit(sum, extra);
    return;
  }
  const bool finite_values = C::finite(a.value) && C::finite(b.value);
  sum = only(value, finite_values || ((pa & kFinite) != 0 && (pb & kFinite) != 0), extra);
  // Of what the finite terms may be: an infinity has no error to carry theirs.
  const auto most = [](const Tracked<V>& t) {
    return C::finite(t.value) ? t.magnitude + t.error : t.magnitude;
  };
  sum.magnitude = most(a) + most(b);
  sum.terms = terms;
  sum.pending = true;
}

template <class V>
Tracked<V> nonfinite_product(const Tracked<V>& a, const Tracked<V>& b) {
  using C = Carrier<V>;
  const std::uint8_t pa = pieces(a);
  const std::uint8_t pb = pieces(b);
  const std::uint8_t extra = combine(pa, pb, [](double x, double y) { return x * y; });
  const V value = C::limited(a.value * b.value);
  const bool finite_operands = C::finite(a.value) && C::finite(b.value);
  if (C::finite(value)) {
    Tracked<V> r = product(a, b, value);
    admit(r, extra);
    return r;
  }
  if (finite_operands && a.error == 0 && b.error == 0) return only(value, false, extra);
  return only(value, (pa & kFinite) != 0 && (pb & kFinite) != 0, extra);
}

// Whether value * y == x without rounding.
template <class V>
bool divides(const V& value, const Tracked<V>& x, const Tracked<V>& y) {
  using C = Carrier<V>;
  if (x.error != 0 || y.error != 0 || value == V{}) return false;
  const auto bits = [](const V& v) { return C::exponent(v) - C::grid(v) + 1; };
  return bits(value) + bits(y.value) <= C::kBits && value * y.value == x.value;
}

template <class V>
Tracked<V> quotient(const Tracked<V>& a, const Tracked<V>& b, const V& value) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Bound least_divisor = (C::least_size(b.value) - b.error) * (1 - Bound(0x1p-50));
  if (least_divisor <= 0) return Tracked<V>::anything(value);
  Tracked<V> r;
  r.value = value;
  r.magnitude = C::size(value);
  r.pending = true;
  if (!a.is_exact_zero()) {
    r.error = inflate((a.error + (r.magnitude + C::kLeast) * b.error) / least_divisor);
    // The reciprocal of a power of two is exact, and so is what is multiplied by it.
    if (b.error != 0 || !is_power_of_two(b.value)) {
      const auto extra = static_cast<Bound>(arithmetic().div_extra * arithmetic().compute.format.unit);
      r.error += inflate(times(extra, r.magnitude + r.error));
    }
    if (!divides(value, a, b)) r.error += inflate(r.magnitude * C::kUnit) + C::kLeast;
    r.grid = r.error == 0 ? C::grid(value) : kNoGrid;
  }
  if (may_be_zero(r)) r.free_sign = !a.sign_known() || !b.sign_known();
  return r;
}

}  // namespace detail

template <class V>
Tracked<V> operator/(const Tracked<V>& x, const Tracked<V>& y) {
  using C = Carrier<V>;
  const Tracked<V> a = closed(x);
  const Tracked<V> b = closed(y);
  const V value = C::limited(a.value / b.value);
  const bool finite_operands = C::finite(a.value) && C::finite(b.value);
  if ((a.may_be | b.may_be) == 0 && finite_operands && C::finite(value)) return detail::quotient(a, b, value);

  const std::uint8_t pa = detail::pieces(a);
  const std::uint8_t pb = detail::pieces(b);
  const std::uint8_t extra = detail::combine(pa, pb, [](double n, double d) { return n / d; });
  if (finite_operands && C::finite(value)) {
    Tracked<V> r = detail::quotient(a, b, value);
    detail::admit(r, extra);
    return r;
  }
  const bool overflowed = finite_operands && b.value != V{};
  const bool finite_too = (pa & detail::kFinite) != 0 && (pb & (detail::kNegative | detail::kPositive)) != 0;
  return detail::only(value, finite_too && !(overflowed && a.error == 0 && b.error == 0), extra);
}

namespace {

template <class V>
bool apart(const Tracked<V>& a, const Tracked<V>& b) {
  using Bound = typename Tracked<V>::Bound;
  return Carrier<V>::size(a.value - b.value) * (1 - Bound(0x1p-48)) > a.error + b.error;
}

template <class V>
Tri compared(const Tracked<V>& a, const Tracked<V>& b, bool value) {
  const auto surely_nan = [](const Tracked<V>& t) {
    return Carrier<V>::nan(t.value) && t.error == 0 && t.may_be == 0;
  };
  if (surely_nan(a) || surely_nan(b)) return {value, true};
  if ((a.may_be | b.may_be) != 0) return {value, false};
  return {value, (a.error == 0 && b.error == 0) || apart(a, b)};
}

}  // namespace

template <class V>
Tri operator<(const Tracked<V>& x, const Tracked<V>& y) {
  const Tracked<V> a = closed(x);
  const Tracked<V> b = closed(y);
  return compared(a, b, a.value < b.value);
}

template <class V>
Tri operator<=(const Tracked<V>& x, const Tracked<V>& y) {
  const Tracked<V> a = closed(x);
  const Tracked<V> b = closed(y);
  return compared(a, b, a.value <= b.value);
}

template <class V>
Tri operator==(const Tracked<V>& x, const Tracked<V>& y) {
  const Tracked<V> a = closed(x);
  const Tracked<V> b = closed(y);
  return compared(a, b, a.value == b.value);
}

template <class V>
Tri is_nan(const Tracked<V>& x) {
  const Tracked<V> t = closed(x);
  const bool nan = Carrier<V>::nan(t.value);
  const bool otherwise = nan ? t.error != 0 || t.may_be != 0 : (t.may_be & kMayBeNan) != 0;
  return {nan, !otherwise};
}

template <class V>
Tracked<V> hull(const Tracked<V>& likely, const Tracked<V>& other) {
  using C = Carrier<V>;
  Tracked<V> r = likely;
  r.foreign = !detail::fits(likely) || !detail::fits(other);
  r.free_sign = likely.free_sign || other.free_sign || C::negative(likely.value) != C::negative(other.value);
  r.may_be |= other.may_be;
  if (C::finite(other.value)) {
    if (!C::finite(likely.value)) return Tracked<V>::anything(likely.value);
    r.error = std::max(r.error, detail::inflate(C::size(other.value - likely.value) + other.error));
  } else if (!(C::nan(likely.value) ? C::nan(other.value) : likely.value == other.value)) {
    r.may_be |= detail::may_be(detail::piece_of(other.value));
    if (other.error != 0) return Tracked<V>::anything(likely.value);
  }
  if (r.error != 0) r.grid = kNoGrid;
  return r;
}

template <class V>
Tracked<V> maximum(const Tracked<V>& x, const Tracked<V>& y) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Tracked<V> a = closed(x);
  const Tracked<V> b = closed(y);
  const V value = maximum(a.value, b.value);
  if (!C::finite(a.value) || !C::finite(b.value)) {
    for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      const bool or_nan = one->may_be == kMayBeNan;
      if (C::finite(one->value) || one->error != 0 || (one->may_be != 0 && !or_nan)) continue;
      if (C::nan(one->value)) return *one;
      if (C::nan(other->value) || (or_nan && C::negative(one->value))) continue;
      if (C::negative(one->value)) return *other;
      Tracked<V> infinite = *one;
      infinite.may_be |= other->may_be & kMayBeNan;
      return infinite;
    }
    return Tracked<V>::anything(value);
  }
  Tracked<V> r = Tracked<V>::exact(value);
  if (a.error != 0 || b.error != 0) {
    // How far beyond `value` either may reach, and how far below it both must have fallen.
    const auto above = [&](const Tracked<V>& t) {
      return t.error - C::size(value - t.value) * (1 - Bound(0x1p-48));
    };
    const auto below = [&](const Tracked<V>& t) {
      return t.error + C::size(value - t.value) * (1 + Bound(0x1p-48));
    };
    r.error = detail::inflate(std::max({above(a), above(b), std::min(below(a), below(b))}));
  }
  // Minus infinity on one side leaves the other one.
  if ((a.may_be & kMayBeNegativeInfinity) != 0)
    r.error = std::max(r.error, detail::inflate(C::size(value - b.value) + b.error));
  if ((b.may_be & kMayBeNegativeInfinity) != 0)
    r.error = std::max(r.error, detail::inflate(C::size(value - a.value) + a.error));
  r.may_be = (a.may_be | b.may_be) & (kMayBeNan | kMayBePositiveInfinity);
  r.may_be |= a.may_be & b.may_be & kMayBeNegativeInfinity;
  r.free_sign = a.free_sign || b.free_sign;
  r.foreign = !detail::fits(a) || !detail::fits(b);
  if (r.error != 0) r.grid = kNoGrid;
  return r;
}

template <class V>
Tracked<V> abs(const Tracked<V>& x) {
  using C = Carrier<V>;
  // Rounding to nearest is symmetric, so that a sum of known sign may stay open.
  Tracked<V> t = closed(x);
  if (C::least_size(t.value) > t.error && t.may_be == 0) t = x;
  t.value = abs(t.value);
  if ((t.may_be & kMayBeNegativeInfinity) != 0)
    t.may_be = static_cast<std::uint8_t>((t.may_be & ~kMayBeNegativeInfinity) | kMayBePositiveInfinity);
  t.free_sign = false;
  return t;
}

namespace {

// The ends of a closed number's set, NaN being above everything.
template <class V>
std::pair<V, V> ends(const Tracked<V>& t) {
  using C = Carrier<V>;
  V low = t.value, high = t.value;
  if (t.error != 0 && C::finite(t.value)) {
    const V reach = C::to_value(detail::inflate(t.error) + 2 * C::size(t.value) * C::kUnit);
    low = t.value - reach;
    high = t.value + reach;
  }
  if ((t.may_be & kMayBePositiveInfinity) != 0) high = V(HUGE_VAL);
  if ((t.may_be & kMayBeNan) != 0) high = V(NAN);
  if ((t.may_be & kMayBeNegativeInfinity) != 0) low = V(-HUGE_VAL);
  return {low, high};
}

// In the order of a maximum: NaN is above everything, and one NaN is as good as another.
template <class V>
bool below(const V& a, const V& b) {
  return !Carrier<V>::nan(a) && (Carrier<V>::nan(b) || a < b);
}

}  // namespace

template <class V>
Tracked<V> place_of_largest(std::span<const Tracked<V>> terms) {
  const auto n = static_cast<std::int64_t>(terms.size());
  const auto at = [&](std::int64_t k) -> const Tracked<V>& { return terms[static_cast<std::size_t>(k)]; };
  std::int64_t best = 0;
  std::vector<V> later(terms.size(), V(-HUGE_VAL));  // the greatest lower end behind each
  for (std::int64_t k = n - 1; k > 0; --k) {
    const V low = ends(at(k)).first;
    const V& known = later[static_cast<std::size_t>(k)];
    later[static_cast<std::size_t>(k - 1)] = below(low, known) ? known : low;
  }
  places().clear();
  V before(-HUGE_VAL);  // the greatest lower end in front
  for (std::int64_t k = 0; k < n; ++k) {
    if (below(at(best).value, at(k).value)) best = k;
    const auto [low, high] = ends(at(k));
    const bool reaches = !below(high, before) && !below(high, later[static_cast<std::size_t>(k)]);
    const bool is_first = k == 0 || !arithmetic().first_tie || below(before, high);
    if (reaches && is_first) places().push_back(k);
    if (k == 0 || below(before, low)) before = low;
  }
  return Tracked<V>::exact(V(static_cast<double>(best)));
}

namespace {

// Of a monotonic function to integers: they lie between those of the set's ends, and are numbers of every format that has
// the argument. Where the set holds more than one, it is centred, so that it ends at them.
template <class V, class Function>
Tracked<V> integral(const Tracked<V>& x, const Function& function) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const Tracked<V> t = closed(x);
  const V value = function(t.value);
  if (!C::finite(t.value) || !(t.error < std::numeric_limits<Bound>::infinity())) {
    Tracked<V> r = t;
    r.value = value;
    return r;
  }
  Tracked<V> r = Tracked<V>::exact(value);
  r.may_be = t.may_be;
  r.free_sign = !t.sign_known();
  if (t.error == 0) return r;
  const V reach = C::to_value(detail::inflate(t.error));
  const V least = function(t.value - reach), greatest = function(t.value + reach);
  if (least == value && greatest == value) return r;
  r.value = (least + greatest) / V(2);
  r.error = detail::inflate(C::size(greatest - least) / 2);
  r.magnitude = C::size(r.value);
  r.grid = kNoGrid;
  return r;
}

}  // namespace

template <class V>
Tracked<V> trunc(const Tracked<V>& x) {
  return integral(x, [](const V& v) { return trunc(v); });
}
template <class V>
Tracked<V> floor(const Tracked<V>& x) {
  return integral(x, [](const V& v) { return floor(v); });
}

template <class V>
FloorRange floor_range(const Tracked<V>& x, std::int64_t n) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const Tracked<V> t = closed(x);
  const std::int64_t likely = floor_within(t.value, n);
  if (t.may_be != 0 || !C::finite(t.value) || !(t.error < std::numeric_limits<Bound>::infinity()))
    return {likely, 0, n - 1};
  if (t.error == 0) return {likely, likely, likely};
  const V reach = C::to_value(detail::inflate(t.error));
  return {likely, floor_within(t.value - reach, n), floor_within(t.value + reach, n)};
}

#define ASSAY_INSTANTIATE(V)                                                              \
  template struct Tracked<V>;                                                             \
  template struct ScalarOps<Tracked<V>>;                                                  \
  template void detail::add_nonfinite(Tracked<V>&, const Tracked<V>&, const Tracked<V>&); \
  template Tracked<V> detail::nonfinite_product(const Tracked<V>&, const Tracked<V>&);    \
  template Tracked<V> operator/(const Tracked<V>&, const Tracked<V>&);                    \
  template Tri operator<(const Tracked<V>&, const Tracked<V>&);                           \
  template Tri operator<=(const Tracked<V>&, const Tracked<V>&);                          \
  template Tri operator==(const Tracked<V>&, const Tracked<V>&);                          \
  template Tri is_nan(const Tracked<V>&);                                                 \
  template Tracked<V> hull(const Tracked<V>&, const Tracked<V>&);                         \
  template Tracked<V> place_of_largest(std::span<const Tracked<V>>);                      \
  template Tracked<V> maximum(const Tracked<V>&, const Tracked<V>&);                      \
  template Tracked<V> trunc(const Tracked<V>&);                                           \
  template Tracked<V> floor(const Tracked<V>&);                                           \
  template FloorRange floor_range(const Tracked<V>&, std::int64_t);                       \
  template Tracked<V> abs(const Tracked<V>&);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay

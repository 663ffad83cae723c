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
  r.free_sign = !t.sign_known();  // should all of the set become zeros
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
  write_on_tape(r, {{symbol_on_tape(t)}},
                detail::inflate(detail::rounding_moves(t, to) + C::size(r.value - t.value)));
  return r;
}

// The set of x with, beside each number, the same rounded to the format: graphs.md.
template <class V>
Tracked<V> ScalarOps<Tracked<V>>::passed(const Tracked<V>& x, Dtype d) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  if (holds_all_of_compute(format(d))) return x;
  const Rounding to(format(d));
  const Arithmetic& a = arithmetic();
  Tracked<V> stored = closed(x);
  const Tracked<V> kept = stored;
  detail::round_on_tape(stored, to);
  if (to.grid < a.compute.grid || to.format.precision > a.compute.format.precision) stored.foreign = true;
  if (is_closed(x) || (x.summed && !a.one_adder)) return stored;
  Tracked<V> r = x;
  r.may_be |= stored.may_be;
  if (!C::finite(x.value) || kept.error == std::numeric_limits<Bound>::infinity()) return r;
  if (kept.error != 0 || !detail::representable(kept.value, kept.grid, to)) {
    Bound more = detail::rounding_error(kept, to);
    // A number that storing flushes is lost whole.
    if (a.flushes && C::least_size(kept.value) - kept.error < static_cast<Bound>(to.format.min_normal))
      more = std::max(more, C::size(kept.value) + kept.error);
    // The additions of an open sum are charged when it is closed.
    r.error = detail::inflate((x.terms >= 2 ? x.error : kept.error) + more);
    r.grid = kNoGrid;
    const Bound to_compute = x.terms >= 2 ? 0 : detail::rounding_moves(x, a.compute);
    const Tape::Symbol of_x = symbol_on_tape(x);
    write_on_tape(r, {{of_x}},
                  detail::inflate(to_compute + std::max(more, detail::rounding_moves(kept, to))));
  }
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
  if ((a.may_be | b.may_be) == 0 && finite_operands && C::finite(value)) {
    Tracked<V> r = detail::quotient(a, b, value);
    detail::write_quotient(r, a, b);
    return r;
  }

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
  detail::write_hull(r, likely, other);
  return r;
}

template <class V>
Tracked<V> abs(const Tracked<V>& x) {
  using C = Carrier<V>;
  // Rounding to nearest is symmetric, so that a sum of known sign may stay open.
  Tracked<V> t = closed(x);
  if (C::least_size(t.value) > t.error && t.may_be == 0) t = x;
  const Tape::Symbol before = symbol_on_tape(t);
  const bool sure = C::least_size(t.value) > t.error, turns = C::negative(t.value);
  t.value = abs(t.value);
  if ((t.may_be & kMayBeNegativeInfinity) != 0)
    t.may_be = static_cast<std::uint8_t>((t.may_be & ~kMayBeNegativeInfinity) | kMayBePositiveInfinity);
  t.free_sign = false;
  write_on_tape(t, {{before, sure ? SlopeRange{turns ? -1.0 : 1.0, 0} : SlopeRange{0, 1}}}, 0);
  return t;
}

#define ASSAY_INSTANTIATE(V)                                                              \
  template struct Tracked<V>;                                                             \
  template struct ScalarOps<Tracked<V>>;                                                  \
  template void detail::add_nonfinite(Tracked<V>&, const Tracked<V>&, const Tracked<V>&); \
  template Tracked<V> detail::nonfinite_product(const Tracked<V>&, const Tracked<V>&);    \
  template Tracked<V> operator/(const Tracked<V>&, const Tracked<V>&);                    \
  template Tracked<V> hull(const Tracked<V>&, const Tracked<V>&);                         \
  template Tracked<V> abs(const Tracked<V>&);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay

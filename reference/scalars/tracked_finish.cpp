// From the set of a Tracked number to the results that may stand in memory.
#include "tracked.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Towards : std::uint8_t { nearest, below, above };

// x rounded to the format; infinite if too large, although a format without infinities has NaN there.
template <class V>
double stored(const V& x, const Format& f, Towards towards) {
  const double r = towards == Towards::nearest ? round_to(x, f)
                   : towards == Towards::below ? round_down(x, f)
                                               : round_up(x, f);
  return std::isnan(r) ? (x < V{} ? -kInfinity : kInfinity) : r;
}

}  // namespace

template <class V>
Interval finish(const Tracked<V>& x) {
  using C = Carrier<V>;
  using Bound = typename C::Bound;
  const Arithmetic& a = arithmetic();
  const Format& f = a.result.format;

  Interval r;
  r.value = static_cast<double>(x.value);
  Tracked<V> t = x;
  if (!a.nonfinite && read_nonfinite()) t = Tracked<V>::anything(x.value);
  if (a.integral && !places().empty() && t.error == 0) {
    r.places = places();
    r.lower = static_cast<double>(r.places.front());
    r.upper = static_cast<double>(r.places.back());
    return r;
  }
  const bool rounds = t.pending || t.terms >= 2 || (t.summed && a.accumulates_narrower);
  detail::charge_additions(t);

  r.nan = (t.may_be & kMayBeNan) != 0;
  r.positive_infinity = (t.may_be & kMayBePositiveInfinity) != 0;
  r.negative_infinity = (t.may_be & kMayBeNegativeInfinity) != 0;
  if (!f.has_infinity && (r.positive_infinity || r.negative_infinity)) {
    r.nan = true;
    r.positive_infinity = r.negative_infinity = false;
  }
  if (!(t.error < std::numeric_limits<Bound>::infinity())) {
    r.nan = r.positive_infinity = r.negative_infinity = true;
    r.lower = -kInfinity;
    r.upper = kInfinity;
    return r;
  }
  if (!C::finite(t.value)) {
    r.lower = kInfinity;
    r.upper = -kInfinity;
    if (C::nan(t.value))
      r.nan = true;
    else if (!f.has_infinity)
      r.nan = true;
    else
      (C::negative(t.value) ? r.negative_infinity : r.positive_infinity) = true;
    return r;
  }

  V low = t.value;
  V high = t.value;
  if (t.error != 0) {
    const V reach = C::to_value(detail::inflate(t.error) + 2 * C::size(t.value) * C::kUnit);
    low = t.value - reach;
    high = t.value + reach;
  }
  const Towards down = a.faithful_store ? Towards::below : Towards::nearest;
  const Towards up = a.faithful_store ? Towards::above : Towards::nearest;
  r.lower = stored(low, f, down);
  r.upper = stored(high, f, up);
  if (rounds && !a.stores_compute) {
    // The last operation rounds to the compute format first; one that does not, being wider, is as good.
    r.lower = std::min(r.lower, stored(stored(low, a.compute.format, Towards::nearest), f, down));
    r.upper = std::max(r.upper, stored(stored(high, a.compute.format, Towards::nearest), f, up));
  }
  if (a.ftz && !a.integral) {
    const double normal = std::max(f.min_normal, rounds ? a.compute.format.min_normal : 0);
    // IEEE 754 lets tininess be detected before rounding: what would round up to the least normal may be flushed too.
    if (low > V(0) && low < V(normal)) r.lower = std::min(r.lower, 0.0);
    if (high < V(0) && high > V(-normal)) r.upper = std::max(r.upper, 0.0);
  }

  const bool overflows_up = r.upper > f.max;
  const bool overflows_down = r.lower < -f.max;
  if (f.has_infinity) {
    r.positive_infinity |= overflows_up;
    r.negative_infinity |= overflows_down;
  } else {
    r.nan |= overflows_up || overflows_down;
  }
  if (r.lower > f.max || r.upper < -f.max) {
    r.lower = kInfinity;
    r.upper = -kInfinity;
    return r;
  }
  if (overflows_up) r.upper = f.max;
  if (overflows_down) r.lower = -f.max;
  if (r.lower <= -f.max && r.upper >= f.max) {  // every finite number
    r.lower = -kInfinity;
    r.upper = kInfinity;
    return r;
  }
  r.exact_zero_sign = a.signed_zero && !a.integral && r.lower == 0 && r.upper == 0 && t.sign_known();
  return r;
}

template Interval finish(const Tracked<double>&);
template Interval finish(const Tracked<Real>&);

}  // namespace assay

// The order of Tracked numbers: comparisons, the larger one and its place, and the integers next to one.
#include "tracked.h"

namespace assay {

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
  if ((a.may_be | b.may_be) == 0) detail::write_maximum(r, a, b, apart(a, b));
  return r;
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
  std::vector<V> later(terms.size(), V(-HUGE_VAL));  // the greatest lower end after each
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
Tracked<V> rint(const Tracked<V>& x) {
  return integral(x, [](const V& v) { return rint(v); });
}

template <class V>
Tracked<V> fmod(const Tracked<V>& x, const Tracked<V>& y) {
  using C = Carrier<V>;
  const Tracked<V> a = closed(x);
  const Tracked<V> b = closed(y);
  const V value = fmod(a.value, b.value);
  if ((a.may_be | b.may_be) != 0) return Tracked<V>::anything(value);
  Tracked<V> r = Tracked<V>::exact(value);
  r.free_sign = a.free_sign;
  if (a.error == 0 && b.error == 0) return r;
  if (!C::finite(a.value) || !C::finite(b.value)) return Tracked<V>::anything(value);
  // Which multiple is taken away is not known: what is left is below both numbers.
  const auto below = std::min(C::size(a.value) + a.error, C::size(b.value) + b.error);
  if (!(C::least_size(b.value) > 2 * b.error)) r.may_be |= kMayBeNan;
  if (C::nan(value)) r.value = V{}, r.magnitude = 0;
  r.error = detail::inflate(C::size(r.value) + below);
  r.free_sign = true;
  r.foreign = !detail::fits(a) || !detail::fits(b);
  r.grid = kNoGrid;
  return r;
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

#define ASSAY_INSTANTIATE(V)                                         \
  template Tri operator<(const Tracked<V>&, const Tracked<V>&);      \
  template Tri operator<=(const Tracked<V>&, const Tracked<V>&);     \
  template Tri operator==(const Tracked<V>&, const Tracked<V>&);     \
  template Tri is_nan(const Tracked<V>&);                            \
  template Tracked<V> place_of_largest(std::span<const Tracked<V>>); \
  template Tracked<V> maximum(const Tracked<V>&, const Tracked<V>&); \
  template Tracked<V> trunc(const Tracked<V>&);                      \
  template Tracked<V> floor(const Tracked<V>&);                      \
  template Tracked<V> rint(const Tracked<V>&);                       \
  template Tracked<V> fmod(const Tracked<V>&, const Tracked<V>&);    \
  template FloorRange floor_range(const Tracked<V>&, std::int64_t);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay

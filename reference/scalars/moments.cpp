#include "moments.h"

#include <algorithm>

namespace assay {
namespace {

// Roundings of d n_B / n: of d, of n_B / n with or without those of 1 / n, of the product.
constexpr double kStepRoundings = 4;

template <class V>
struct Part {
  V mean{}, squares{};
  double n = 0;
};

// B goes into A.
template <class V>
void merge(Part<V>& a, const Part<V>& b) {
  const double n = a.n + b.n;
  const V d = accumulated<V>(b.mean - a.mean, true);
  const V share = accumulated<V>(V(b.n) / V(n), false);
  a.mean = accumulated<V>(a.mean + accumulated<V>(d * share, false), true);
  if (b.n == 1 && attack_state().coin()) {
    const V left = accumulated<V>(b.mean - a.mean, true);
    a.squares = accumulated<V>(a.squares + accumulated<V>(d * left, false), true);
  } else {
    const V between =
        accumulated<V>(accumulated<V>(accumulated<V>(d * d, false) * share, false) * V(a.n), false);
    a.squares = accumulated<V>(accumulated<V>(a.squares + b.squares, true) + between, true);
  }
  a.n = n;
}

// With all that the finite numbers among x may be: sums and maxima of |x| and of |x - mean|, and the sum of x^2.
template <class V>
struct MomentSizes {
  typename Tracked<V>::Bound sum = 0, largest = 0, distances = 0, farthest = 0, squares = 0;
  bool nan = false, infinite = false;  // some x is
  bool nonfinite() const { return nan || infinite; }
};

// Adds to the moments of n numbers by two passes what merging parts may give. moments.md derives every line.
template <class V>
void admit_merging(Moments<Tracked<V>>& m, std::int64_t n, const MomentSizes<V>& sizes) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  if (sizes.nan) return;  // then both are
  if (sizes.sum == 0 && !sizes.nonfinite()) return;
  const Arithmetic& a = arithmetic();
  const Rounding& to = a.accumulate;
  const auto u = static_cast<Bound>(to.format.unit);
  const auto least = static_cast<Bound>(a.flushes ? to.format.min_normal : to.half_subnormal);
  const auto count = static_cast<Bound>(n);
  const auto step = Bound(kStepRoundings);
  const auto depth =
      static_cast<Bound>(a.roundings_of_sum(static_cast<double>(n)) + (a.accumulates_narrower ? 1 : 0));
  const Bound levels = std::ceil(std::log2(count));
  const Bound growth = std::exp((depth + 1) * 12 * u) * (1 + Bound(0x1p-40));
  const Bound underflow = (depth + 1) * (step + 1) * least;

  const Bound largest = sizes.largest * growth + underflow;  // that a mean may be
  const auto overflow = static_cast<Bound>(std::min(to.overflow, a.compute.overflow));
  if (sizes.infinite && 4 * largest < overflow) {
    if (!C::nan(m.mean.value)) m.mean.may_be |= kMayBeNan;
    m.squares.value = V(std::numeric_limits<double>::infinity());
    m.squares.may_be |= kMayBeNan;
    return;
  }
  if (sizes.nonfinite() || !C::finite(m.mean.value) || !C::finite(m.squares.value)) {
    // Whether and where infinities meet depends on the parts.
    m.mean = Tracked<V>::anything(m.mean.value);
    m.squares = Tracked<V>::anything(m.squares.value);
    return;
  }
  // By how much a number's share in the means of its parts moves it, at first with no more known of distances than of means.
  const auto moved_by = [&](Bound distance) {
    return u * growth * (depth * largest + 4 * step * levels * distance) + underflow;
  };
  const Bound moved = moved_by(sizes.farthest + moved_by(largest));
  const Bound farthest = sizes.farthest + moved, distances = sizes.distances + count * moved;
  const Bound by_distances =
      depth * (sizes.sum / count + moved) + step * levels * (2 * distances / count + farthest);
  const Bound by_sizes = sizes.sum / count * (depth + 3 * step * levels) + step * levels * largest;
  const Bound of_mean = u * growth * std::min(by_distances, by_sizes) + underflow;
  const Bound of_one_merge = u * growth * (largest + 2 * step * farthest) + (step + 1) * least;
  const Bound squares = C::size(m.squares.value) + m.squares.error;
  const Bound of_moves = 2 * moved * sizes.distances + count * moved * moved;
  const Bound of_squares = (of_moves + 2 * levels * distances * of_one_merge +
                            u * (2 * depth + 2 * step + 1) * (squares + of_moves)) *
                               growth +
                           8 * count * count * least;
  const auto admit = [&](Tracked<V>& t, Bound error, Bound greatest) {
    if (!(greatest < overflow)) {
      t = Tracked<V>::anything(t.value);
      return;
    }
    const Tape::Symbol by_two_passes = symbol_on_tape(t);
    t.error = detail::inflate(t.error + error);
    t.grid = kNoGrid;
    write_on_tape(t, {{by_two_passes}}, detail::inflate(error), Tape::Computed::once);
    if (!a.accumulates_in_compute) detail::round_once(t, a.compute);
  };
  admit(m.mean, of_mean, 4 * largest);
  admit(m.squares, of_squares, 4 * count * (squares + of_squares));
}

// Adds to the moments of n numbers by two passes what one pass may give. moments.md derives it.
template <class V>
void admit_one_pass(Moments<Tracked<V>>& m, std::int64_t n, const MomentSizes<V>& sizes) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  if (sizes.nan) return;  // then both are
  if (sizes.sum == 0 && !sizes.nonfinite()) return;
  if (sizes.nonfinite() || !C::finite(m.mean.value) || !C::finite(m.squares.value)) {
    m.squares = Tracked<V>::anything(m.squares.value);  // infinity less infinity
    return;
  }
  const Arithmetic& a = arithmetic();
  const Rounding& to = a.accumulate;
  const auto u = static_cast<Bound>(std::max(to.format.unit, a.compute.format.unit));
  Bound least = 0;  // that an operation of either format may lose beside its relative error
  for (const Rounding* each : {&to, &a.compute})
    least = std::max(least, static_cast<Bound>(a.flushes ? each->format.min_normal : each->half_subnormal));
  const auto count = static_cast<Bound>(n);
  const auto depth =
      static_cast<Bound>(a.roundings_of_sum(static_cast<double>(n)) + (a.accumulates_narrower ? 1 : 0));
  const Bound growth = std::exp((depth + 8) * u) * (1 + Bound(0x1p-40));
  const Bound mean = C::size(m.mean.value) + m.mean.error;
  const Bound off = m.mean.error + u * mean + least;  // the mean in the format of sums, too
  const Bound of_factors = a.rounds_operands ? 3 * static_cast<Bound>(a.multiply.format.unit) *
                                                   (sizes.squares + count * mean * mean)
                                             : 0;
  const Bound of_squares = of_factors + (depth + 3) * u * sizes.squares + count * (depth + 2) * least;
  const Bound of_mean =
      count * (2 * mean + off) * off + 6 * u * count * (mean + off) * (mean + off) + 4 * count * least;
  const Bound squares = C::size(m.squares.value) + m.squares.error;
  const Bound error = growth * ((of_squares + of_mean) * (1 + 2 * u) + 2 * u * squares) + least;
  const auto overflow = static_cast<Bound>(std::min(to.overflow, a.compute.overflow));
  if (!(4 * growth * (sizes.squares + count * (mean + off) * (mean + off)) < overflow)) {
    m.squares = Tracked<V>::anything(m.squares.value);
    return;
  }
  const Tape::Symbol by_two_passes = symbol_on_tape(m.squares);
  m.squares.error = detail::inflate(m.squares.error + error);
  m.squares.grid = kNoGrid;
  write_on_tape(m.squares, {{by_two_passes}}, detail::inflate(error), Tape::Computed::once);
  if (!a.accumulates_in_compute) detail::round_once(m.squares, a.compute);
}

// The set of a sum of squares as one from 0 on, where it reaches below.
template <class V>
void keep_positive(Tracked<V>& squares) {
  using C = Carrier<V>;
  const auto greatest = C::size(squares.value) + squares.error;
  if (!C::finite(squares.value) || squares.error <= C::least_size(squares.value) ||
      !(greatest < std::numeric_limits<decltype(greatest)>::infinity()))
    return;
  squares.value = C::to_value(detail::inflate(greatest / 2));
  squares.error = squares.magnitude = C::size(squares.value);
}

// Of an input: what it is, and by how much a kernel may read another number.
template <class V>
V value_of(double x) {
  return V(x);
}
template <class V>
V value_of(const Tracked<V>& x) {
  return x.value;
}
template <class V>
typename Tracked<V>::Bound error_of(double x) {
  return arithmetic().daz ? ScalarOps<Tracked<V>>::input(x).error : 0;
}
template <class V>
typename Tracked<V>::Bound error_of(const Tracked<V>& x) {
  return x.error;
}

template <class V, class X>
MomentSizes<V> sizes_of(std::span<const X> x, const Tracked<V>& mean) {
  using C = Carrier<V>;
  MomentSizes<V> sizes;
  for (const X& each : x) {
    const V value = value_of<V>(each);
    if (!C::finite(value)) {
      (C::nan(value) ? sizes.nan : sizes.infinite) = true;
      continue;
    }
    const auto error = error_of<V>(each);
    const auto size = C::size(value) + error;
    sizes.sum += size;
    sizes.squares += size * size;
    sizes.largest = std::max(sizes.largest, size);
    if (!C::finite(mean.value)) continue;
    const auto distance = C::size(value - mean.value) + error + mean.error;
    sizes.distances += distance;
    sizes.farthest = std::max(sizes.farthest, distance);
  }
  return sizes;
}

}  // namespace

// Squares of distances from a number c that is known to within an error e, each with 2 |x - c| e in its own. But it is one
// number that is wrong: together they are off by -2 e (x - c) + e^2, summed, and next to nothing is left of the first if c is the
// mean. moments.md derives it.
template <class V, class X>
void keep_what_one_centre_does(Tracked<V>& squares, std::span<const X> x, const Tracked<V>& centre) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  if (centre.error == 0 || centre.may_be != 0 || !C::finite(centre.value)) return;
  if (squares.may_be != 0 || !C::finite(squares.value)) return;
  constexpr Bound kSlack = Bound(0x1p-30);  // for rounding here
  const Arithmetic& a = arithmetic();
  // What is smaller may become zero: its error is its size then, of which nothing can be taken away.
  Bound least = 0;
  for (const Rounding* to : {&a.compute, &a.accumulate, &a.multiply})
    least = std::max(least, static_cast<Bound>(a.flushes ? to->format.min_normal : to->half_subnormal));
  Bound distances = 0, unread = 0;
  V sum{};
  for (const X& each : x) {
    const V distance = value_of<V>(each) - centre.value;
    const Bound size = C::least_size(distance);
    if (size < least || size * size < least) continue;
    distances += size;
    sum = sum + distance;
    unread += error_of<V>(each);
  }
  const Bound left = C::size(sum) + distances * kSlack + unread * (1 + kSlack);
  const Bound without = squares.error - 2 * centre.error * (distances * (1 - kSlack) - left);
  if (without < squares.error) squares.error = std::max(detail::inflate(without), Bound(C::kLeast));
}

namespace {

bool finite_number(double x) { return std::isfinite(x); }
template <class V>
bool finite_number(const Tracked<V>& x) {
  return finite_for_certain(x);
}

// From the sums of two passes to what kernels may give.
template <class V, class X>
Moments<Tracked<V>> with_other_ways(Moments<Tracked<V>> m, const Tracked<V>& centre, std::span<const X> x) {
  using C = Carrier<V>;
  const auto n = static_cast<std::int64_t>(x.size());
  m.mean = closed(m.mean);
  m.squares = closed(m.squares);
  const Tape::Symbol squares = symbol_on_tape(m.squares);
  keep_what_one_centre_does(m.squares, x, centre);
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) on->narrow(m.squares, squares);

  // A sum of squares is never minus infinity, and NaN only where a number is not finite or the mean is NaN.
  const bool finite = std::ranges::all_of(x, [](const X& each) { return finite_number(each); });
  if (m.squares.may_be != 0 && C::finite(m.mean.value) && (m.mean.may_be & kMayBeNan) == 0 && finite)
    m.squares.may_be &= kMayBePositiveInfinity;
  keep_positive(m.squares);
  const bool merges = arithmetic().updates_moments && n >= 2, one_pass = arithmetic().one_pass && n >= 1;
  if constexpr (!std::is_same_v<X, double>) {
    // Of numbers that may be infinite nothing is known under other ways.
    if (!finite && (merges || one_pass)) {
      m.mean = Tracked<V>::anything(m.mean.value);
      m.squares = Tracked<V>::anything(m.squares.value);
      return m;
    }
  }
  if (merges) admit_merging(m, n, sizes_of<V>(x, m.mean));
  if (one_pass) admit_one_pass(m, n, sizes_of<V>(x, m.mean));
  return m;
}

}  // namespace

template <class V>
Moments<Tracked<V>> tracked_moments(std::span<const double> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  OpenSum<V> sum, squares;
  sum.add_inputs(x);
  const Tracked<V> mean = sum.total() / Tracked<V>(n), centre = group(mean);
  squares.add_squared_distances(x, centre);
  return with_other_ways<V, double>({mean, squares.total()}, centre, x);
}

template <class V>
Moments<Tracked<V>> tracked_moments(std::span<const Tracked<V>> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  OpenSum<V> sum, squares;
  for (const Tracked<V>& each : x) sum.add(each);
  const Tracked<V> mean = sum.total() / Tracked<V>(n);
  Tracked<V> centre = group(mean);  // of which all distances are taken
  write_on_tape(centre, {{symbol_on_tape(centre)}}, 0, Tape::Computed::once);
  for (std::size_t k = 0; k < x.size(); ++k) {
    stop_point_at(static_cast<std::int64_t>(k));
    const Tracked<V> distance = x[k] - centre;
    squares.add(distance * distance);
  }
  return with_other_ways<V, Tracked<V>>({mean, squares.total()}, centre, x);
}

template <class V>
Moments<Adversary<V>> merged_moments(std::vector<Adversary<V>>& x) {
  AttackState& s = attack_state();
  const Arithmetic& a = arithmetic();
  // In order of size no part has the mean of all, and what errors do to the squares adds up.
  if (s.attack.shuffle && s.below(4) == 0)
    std::ranges::sort(x, [](const Adversary<V>& l, const Adversary<V>& r) { return l.value < r.value; });
  else if (s.attack.shuffle)
    for (std::size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[s.below(i)]);
  const std::size_t block =
      a.chain.kind == Chain::Kind::any ? 1 + s.below(x.size()) : a.chain.block_of(x.size());
  const auto leaf = [&](std::size_t k) {
    const V value = settled(x[k]);
    return Part<V>{a.accumulates_narrower && s.coin() ? accumulated<V>(value, false) : value, V{}, 1};
  };
  Part<V> all;
  auto reversals = static_cast<int>(std::log2(static_cast<double>(x.size())));
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    Part<V> part = leaf(begin);
    for (std::size_t k = begin + 1; k < std::min(begin + block, x.size()); ++k) merge(part, leaf(k));
    if (begin == 0) {
      all = part;
    } else if (reversals > 0 && s.coin()) {
      --reversals;
      merge(part, all);
      all = part;
    } else {
      merge(all, part);
    }
  }
  using Pending = typename Adversary<V>::Pending;
  const Pending pending = a.accumulates_in_compute ? Pending::none : Pending::other;
  return {{all.mean, pending}, {all.squares, pending}};
}

template <class V>
Moments<Adversary<V>> one_pass_moments(const std::vector<Adversary<V>>& x) {
  using A = Adversary<V>;
  const auto n = static_cast<std::int64_t>(x.size());
  const auto number = [&](std::int64_t k) { return x[static_cast<std::size_t>(k)]; };
  const auto square = [&](std::int64_t k) { return number(k) * number(k); };
  const A total = group(sum<A>(n, number)), squares = group(sum<A>(n, square)), mean = group(total / A(n));
  AttackState& s = attack_state();
  if (s.coin()) return {mean, squares - mean * total};
  if (s.coin()) return {mean, squares - mean * mean * A(n)};
  return {mean, group(group(squares / A(n)) - mean * mean) * A(n)};
}

#define ASSAY_INSTANTIATE(V)                                                 \
  template Moments<Tracked<V>> tracked_moments(std::span<const double>);     \
  template Moments<Tracked<V>> tracked_moments(std::span<const Tracked<V>>); \
  template Moments<Adversary<V>> merged_moments(std::vector<Adversary<V>>&); \
  template Moments<Adversary<V>> one_pass_moments(const std::vector<Adversary<V>>&);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay

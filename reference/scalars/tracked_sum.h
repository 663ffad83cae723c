// Open sums of Tracked terms: what a kernel may make of them by adding in any order, and with which error.
#pragma once

#include <array>
#include <span>

#include "tape.h"
#include "tracked_set.h"

namespace assay {

namespace detail {

// A term as a sum takes it: its own rounding charged (a fused multiply-add leaves it out), open sums left open.
template <class V>
void settle(Tracked<V>& t) {
  const Rounding& compute = arithmetic().compute;
  if (t.terms >= 2) return;
  if (t.pending) {
    round_once(t, compute);
  } else if (t.error == 0 ? t.grid < compute.grid : t.foreign) {
    // Not a number of the compute format, so that adding it may round in the subnormal range, where sums of numbers of
    // the format are exact.
    t.error += static_cast<typename Tracked<V>::Bound>(compute.half_subnormal);
    t.grid = kNoGrid;
    t.foreign = false;
  }
}

// How far that may move a number of the set.
template <class V>
typename Tracked<V>::Bound settling_moves(const Tracked<V>& t) {
  const Rounding& compute = arithmetic().compute;
  if (t.terms >= 2) return 0;
  if (t.pending) return rounding_moves(t, compute);
  const bool may_round = t.error == 0 ? t.grid < compute.grid : t.foreign;
  return may_round ? static_cast<typename Tracked<V>::Bound>(compute.half_subnormal) : 0;
}

// x where it is all there is to a sum. Adding zero rounds a number that is none of the compute format.
template <class V>
void alone(Tracked<V>& x) {
  if (x.terms < 2 && !x.pending && Carrier<V>::finite(x.value)) x.pending = !fits(x);
}

// infinities and NaN of a + b where either may be one
template <class V>
void add_nonfinite(Tracked<V>& sum, const Tracked<V>& a, const Tracked<V>& b);

// Of settled terms, neither of them an exact zero.
template <class V>
void add_settled(Tracked<V>& sum, const Tracked<V>& b) {
  using C = Carrier<V>;
  const V value = sum.value + b.value;
  if ((sum.may_be | b.may_be) != 0 || !C::finite(value)) return add_nonfinite(sum, Tracked<V>(sum), b);
  sum.error += b.error;
  if (sum.grid == kNoGrid || b.grid == kNoGrid || C::exponent(value) - std::min(sum.grid, b.grid) >= C::kBits)
    sum.error += C::residual(sum.value, b.value, value);
  sum.magnitude += b.magnitude;
  sum.terms += b.terms;
  sum.grid = sum.error == 0 ? std::min(sum.grid, b.grid) : kNoGrid;
  sum.value = value;
  sum.pending = true;
  sum.free_sign = false;
}

// x + zero, the zero exact.
template <class V>
Tracked<V> add_zero(const Tracked<V>& x, const Tracked<V>& zero) {
  using C = Carrier<V>;
  Tracked<V> r = x;
  r.value = x.value + zero.value;
  alone(r);
  if (x.is_exact_zero()) {
    const auto positive = [](const Tracked<V>& t) { return !t.free_sign && !C::negative(t.value); };
    r.free_sign = !positive(x) && !positive(zero) && (x.free_sign || zero.free_sign);
  } else if (r.pending && may_be_zero(r)) {
    r.free_sign = true;  // a product that underflows to -0 gives +0 + -0 = +0 alone, but -0 when it is fused
  }
  return r;
}

// The error of an open sum up to, but without, its last rounding to the compute format.
template <class V>
void charge_additions(Tracked<V>& t);

// x, which is not closed, as a number that the kernel has in its compute format.
template <class V>
Tracked<V> rounded(const Tracked<V>& x);

}  // namespace detail

// Whether no rounding is pending.
template <class V>
bool is_closed(const Tracked<V>& t) {
  return t.terms < 2 && !t.pending && !(t.summed && arithmetic().accumulates_narrower);
}

// x as a number that the kernel has in its compute format.
template <class V>
Tracked<V> closed(const Tracked<V>& x) {
  return is_closed(x) ? x : detail::rounded(x);
}

template <class V>
Tracked<V> operator+(const Tracked<V>& x, const Tracked<V>& y);

template <class V>
Tracked<V> operator-(Tracked<V> t) {
  const Tape::Symbol before = symbol_on_tape(t);
  t.value = -t.value;
  if (t.terms >= 2 && t.value == V{}) t.free_sign = true;  // b - a for -(a - b)
  const std::uint8_t infinities = t.may_be & (kMayBePositiveInfinity | kMayBeNegativeInfinity);
  if (infinities == kMayBePositiveInfinity || infinities == kMayBeNegativeInfinity)
    t.may_be ^= kMayBePositiveInfinity | kMayBeNegativeInfinity;
  write_on_tape(t, {{before, {.middle = -1}}}, 0);
  return t;
}

template <class V>
Tracked<V> operator-(const Tracked<V>& x, const Tracked<V>& y) {
  return x + -y;
}

// Terms come one by one, in no particular order; a sum may also start from zero, which can change a zero's sign only.
template <class V>
class OpenSum {
 public:
  // A term that has been computed for this sum alone has a symbol on the tape from `of_this_sum` on.
  void add(const Tracked<V>& term, Tape::Symbol of_this_sum = ~Tape::Symbol{0});
  // The same for many elements of tensors, faster.
  void add_inputs(std::span<const double> x);
  void add_products(std::span<const double> a, std::span<const double> b);
  void add_squared_distances(std::span<const double> x, const Tracked<V>& from);
  Tracked<V> total();
  // Takes what has been added so far for one number, where a tape is written: of several totals each needs all that came before.
  void note_so_far();

 private:
  // Adds many exact numbers, by `loop`.
  template <class Loop>
  void add_many(const Loop& loop);
  void add_inputs_in_loops(std::span<const double> x);
  void add_products_in_loops(std::span<const double> a, std::span<const double> b);
  void add_squared_distances_in_loops(std::span<const double> x, const Tracked<V>& from);
  typename Tracked<V>::Bound own_error() const;
  // Whether sums of plain numbers are added here in the plainest way: tracked_many.cpp. With these infinities.
  bool plain(std::uint8_t may_be = 0) const;
  // Whether it is one infinity or NaN, for certain, and stays that whatever finite numbers are added.
  bool stays() const;

  Tracked<V> sum_;
  std::int64_t count_ = 0;
  bool any_ = false;
  bool positive_zero_ = false;
  std::vector<Tape::Term> origins_;  // on the tape, and what its terms may be off by beside them
  double own_ = 0;
};

// The open sum of products of elements of tensors.
template <class V>
class OpenProducts {
 public:
  void add(double a, double b) {
    if (kept_ == kAtOnce) add_kept();
    a_[kept_] = a;
    b_[kept_++] = b;
  }
  // Of the products, and one more term unless it is null.
  Tracked<V> total(const Tracked<V>* also) {
    add_kept();
    if (also != nullptr) sum_.add(*also);
    return sum_.total();
  }

 private:
  static constexpr std::size_t kAtOnce = 64;
  void add_kept() {
    sum_.add_products({a_.data(), kept_}, {b_.data(), kept_});
    kept_ = 0;
  }

  OpenSum<V> sum_;
  std::size_t kept_ = 0;
  std::array<double, kAtOnce> a_, b_;
};

}  // namespace assay

#include "tape_rules.h"
#include "tracked.h"

namespace assay {

namespace detail {

template <class V>
void round_once(Tracked<V>& t, const Rounding& to) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  t.pending = false;
  if (!C::finite(t.value)) return;
  if (t.error != 0 || !representable(t.value, t.grid, to)) {
    t.error = inflate(t.error + rounding_error(t, to));
    t.grid = kNoGrid;
    t.foreign = false;
  }
  note_overflow(t, to);
  if (arithmetic().flushes) note_flush(t, static_cast<Bound>(to.format.min_normal));
}

template <class V>
Tracked<V> product(const Tracked<V>& a, const Tracked<V>& b, const V& value) {
  using C = Carrier<V>;
  Tracked<V> r;
  r.value = value;
  r.magnitude = C::size(value);
  r.pending = true;
  if (a.error == 0 && b.error == 0) {
    r.grid = std::min(a.grid + b.grid, kEveryGrid);
    if (r.grid < C::kLeastGrid || C::exponent(value) - r.grid >= C::kBits) {
      r.error = inflate(r.magnitude * C::kUnit) + C::kLeast;
      r.grid = kNoGrid;
    }
  } else if (!a.is_exact_zero() && !b.is_exact_zero()) {
    r.error = inflate(times(C::size(a.value), b.error) + times(C::size(b.value), a.error) +
                      times(a.error, b.error) + r.magnitude * C::kUnit) +
              C::kLeast;
    r.grid = kNoGrid;
  }
  if (may_be_zero(r)) r.free_sign = !a.sign_known() || !b.sign_known();
  return r;
}

template <class V>
void charge_additions(Tracked<V>& t) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const Arithmetic& a = arithmetic();
  const bool enters = t.summed && a.accumulates_narrower;
  const bool cuts = t.summed && a.cut_off.at_once > 0;
  if (t.terms < 2 && !enters && !cuts) return;
  settle(t);  // a sum of one product, which is rounded before it enters the accumulator

  const bool accumulator = t.summed && !a.accumulates_in_compute;
  const Rounding& to = accumulator ? a.accumulate : a.compute;
  const Bound slack = 1 + static_cast<Bound>(t.terms) * Bound(0x1p-51) + Bound(0x1p-48);
  const auto overflow = static_cast<Bound>(to.overflow);
  t.error *= slack;
  if (!C::finite(t.value)) {
    // The finite terms may overflow among themselves, rounded on the way, to the infinity that is not there yet.
    const auto growth = static_cast<Bound>(std::exp(t.terms * std::log1p(to.format.unit)));
    if (t.magnitude * growth * slack >= overflow) t.may_be |= kMayBeNan;
    return;
  }
  const bool exact =
      t.error == 0 && t.grid >= to.grid && exponent_of(t.magnitude) < t.grid + to.format.precision;
  if (!exact) {
    if (enters) t.error += static_cast<Bound>(t.terms) * static_cast<Bound>(to.half_subnormal);
    if (cuts) t.error += 2 * static_cast<Bound>(t.terms) * static_cast<Bound>(to.half_subnormal);
    // The last addition is the rounding to the compute format, unless that is a conversion after it, or it cuts off.
    const double additions = (t.summed ? a.roundings_of_sum(t.terms) : t.terms - 1) + (enters ? 1 : 0) - (accumulator || cuts ? 0 : 1);
    if (additions > 0) {
      const double growth = std::expm1(additions * std::log1p(to.format.unit));
      t.error += static_cast<Bound>(growth) * (t.magnitude + t.error) * slack;
    }
  }
  // Every number on the way may be subnormal and lost: what enters, and partial sums but the last.
  const double on_the_way = (enters ? t.terms : 0) + (accumulator ? t.terms : t.terms - 2);
  if (a.flushes && on_the_way > 0 && t.grid < std::max(a.compute.format.min_exponent, to.format.min_exponent))
    t.error += static_cast<Bound>(on_the_way) *
               static_cast<Bound>(std::max(a.compute.format.min_normal, to.format.min_normal));
  if (t.error != 0) t.grid = kNoGrid;

  // On the way, a partial sum is at most the sum of the positive terms, and at least that of the negative ones.
  const Bound most = t.magnitude * slack + t.error;
  if (most >= overflow && (t.terms > 2 || accumulator)) {
    const Bound half = C::signed_size(t.value) / 2;
    const bool up = t.magnitude * slack / 2 + half + t.error >= overflow;
    const bool down = t.magnitude * slack / 2 - half + t.error >= overflow;
    if (up) t.may_be |= kMayBePositiveInfinity;
    if (down) t.may_be |= kMayBeNegativeInfinity;
    // They may meet, and either may meet an infinite term.
    if ((up || down) && (t.may_be & kMayBePositiveInfinity) != 0 && (t.may_be & kMayBeNegativeInfinity) != 0)
      t.may_be |= kMayBeNan;
  }
}

namespace {

// charge_additions(), with what that may move on the tape: a sum's additions are done once, whatever rounds it then.
void charge_on_tape(Tape& tape, Tracked<double>& t) {
  const Tape::Symbol open = tape.symbol_of(t);
  const double before = t.error;
  double own = t.terms < 2 ? settling_moves(t) : 0;
  charge_additions(t);
  own += std::max(t.error - before, 0.0) + t.error * 0x1p-49;
  tape.write(t, {{open}}, own, t.summed ? Tape::Computed::once : Tape::Computed::again);
}

template <class V>
void charge(Tracked<V>& t) {
  if constexpr (std::is_same_v<V, double>) {
    const bool charges = t.terms >= 2 || (t.summed && arithmetic().accumulates_narrower);
    if (Tape* const on = tape<V>(); on != nullptr && charges) return charge_on_tape(*on, t);
  }
  charge_additions(t);
}

}  // namespace

template <class V>
void round_on_tape(Tracked<V>& t, const Rounding& to) {
  if (tape<V>() == nullptr) return round_once(t, to);
  const Tape::Symbol before = symbol_on_tape(t);
  const auto moves = rounding_moves(t, to);
  round_once(t, to);
  write_on_tape(t, {{before}}, moves);
}

template <class V>
Tracked<V> rounded(const Tracked<V>& x) {
  Tracked<V> t = x;
  if constexpr (std::is_same_v<V, double>)
    if (const Tape* const on = tape<V>())
      if (const Tracked<V>* const known = on->closed(x)) return *known;
  charge(t);
  round_on_tape(t, arithmetic().compute);
  t.terms = 1;
  t.summed = false;
  t.magnitude = 0;
  if (Carrier<V>::finite(t.value)) {
    t.magnitude = Carrier<V>::size(t.value);
    if (t.error == 0 && t.magnitude == 0) t.grid = kEveryGrid;
  }
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) on->set_closed(x, t);
  return t;
}

}  // namespace detail

template <class V>
Tracked<V> operator*(const Tracked<V>& x, const Tracked<V>& y) {
  const auto multiplied = [](const Tracked<V>& a, const Tracked<V>& b) {
    const V value = Carrier<V>::limited(a.value * b.value);
    if ((a.may_be | b.may_be) != 0 || !Carrier<V>::finite(value)) return detail::nonfinite_product(a, b);
    Tracked<V> r = detail::product(a, b, value);
    detail::write_product(r, a, b);
    return r;
  };
  if (!arithmetic().rounds_operands && is_closed(x) && is_closed(y)) return multiplied(x, y);
  Tracked<V> a = closed(x);
  Tracked<V> b = closed(y);
  if (arithmetic().rounds_operands) {
    detail::round_on_tape(a, arithmetic().multiply);
    detail::round_on_tape(b, arithmetic().multiply);
  }
  return multiplied(a, b);
}

template <class V>
Tracked<V> operator+(const Tracked<V>& x, const Tracked<V>& y) {
  if (x.is_exact_zero()) return detail::add_zero(y, x);
  if (y.is_exact_zero()) return detail::add_zero(x, y);
  // A sum that has an accumulator or a chain of its own ends here.
  const bool ends = !arithmetic().one_adder;
  Tracked<V> a = ends && x.summed ? closed(x) : x;
  Tracked<V> b = ends && y.summed ? closed(y) : y;
  const bool noted = tape<V>() != nullptr;
  const Tape::Symbol of_a = symbol_on_tape(a), of_b = symbol_on_tape(b);
  const auto own = noted ? detail::settling_moves(a) + detail::settling_moves(b) +
                               Carrier<V>::residual(a.value, b.value, V(a.value + b.value))
                         : 0;
  detail::settle(a);
  detail::settle(b);
  detail::add_settled(a, b);
  write_on_tape(a, {{of_a}, {of_b}}, detail::inflate(own));
  return a;
}

template <class V>
void OpenSum<V>::add(const Tracked<V>& given, Tape::Symbol of_this_sum) {
  ++count_;
  if (given.is_exact_zero()) {
    if (!Carrier<V>::negative(given.value) && !given.free_sign) positive_zero_ = true;
    return;
  }
  // Additions that are not the sum's own end.
  Tracked<V> term = !arithmetic().one_adder && (given.terms >= 2 || given.summed) ? closed(given) : given;
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>(); on != nullptr && term.error != 0) {
      const bool taken = term.symbol >= of_this_sum && on->take_last(term, origins_, own_);
      if (!taken) origins_.push_back({on->symbol_of(term)});
    }
  if (!any_) {
    sum_ = term;
    any_ = true;
    return;
  }
  if constexpr (std::is_same_v<V, double>)
    if (tape<V>() != nullptr)
      own_ += detail::settling_moves(sum_) + detail::settling_moves(term) +
              Carrier<V>::residual(sum_.value, term.value, sum_.value + term.value);
  detail::settle(sum_);
  detail::settle(term);
  detail::add_settled(sum_, term);
}

template <class V>
typename Tracked<V>::Bound OpenSum<V>::own_error() const {
  return own_ * (1 + sum_.terms * 0x1p-50 + 0x1p-48);
}

template <class V>
void OpenSum<V>::note_so_far() {
  if constexpr (std::is_same_v<V, double>) {
    Tape* const on = tape<V>();
    if (on == nullptr || !any_ || sum_.error == 0) return;
    on->write(sum_, origins_, own_error());
    origins_.assign(1, {sum_.symbol});
    own_ = 0;
  }
}

template <class V>
Tracked<V> OpenSum<V>::total() {
  if (count_ == 0) return sum_;
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) on->write(sum_, origins_, own_error());
  // An exact cancellation gives +0 in any order, and so does a sum with a +0 in it.
  if (!any_)
    sum_.free_sign = !positive_zero_;
  else if (sum_.error != 0 || sum_.value != V{})
    sum_.free_sign = detail::may_be_zero(sum_);
  detail::alone(sum_);
  if (arithmetic().chain.kind != Chain::Kind::any || arithmetic().cut_off.at_once > 0)
    sum_.terms = std::max(sum_.terms, static_cast<double>(count_));
  sum_.summed = true;
  return sum_;
}

#define ASSAY_INSTANTIATE(V)                                                           \
  template void detail::round_once(Tracked<V>&, const Rounding&);                      \
  template void detail::round_on_tape(Tracked<V>&, const Rounding&);                   \
  template Tracked<V> detail::product(const Tracked<V>&, const Tracked<V>&, const V&); \
  template void detail::charge_additions(Tracked<V>&);                                 \
  template Tracked<V> detail::rounded(const Tracked<V>&);                              \
  template Tracked<V> operator*(const Tracked<V>&, const Tracked<V>&);                 \
  template Tracked<V> operator+(const Tracked<V>&, const Tracked<V>&);                 \
  template class OpenSum<V>;

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay

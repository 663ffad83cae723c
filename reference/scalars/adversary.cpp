#include "adversary.h"

#include <optional>

#include "tracked.h"

namespace assay {
namespace {

// How far a perturbation goes, between -1 and 1; a little inside, for the roundings of the perturbation
// itself.
double direction() {
  AttackState& s = attack_state();
  switch (s.attack.rounding) {
    case Attack::Rounding::up:
      return 1 - 0x1p-20;
    case Attack::Rounding::down:
      return -(1 - 0x1p-20);
    case Attack::Rounding::random_sign:
      return s.coin() ? 1 - 0x1p-20 : -(1 - 0x1p-20);
    case Attack::Rounding::uniform:
      return (1 - 0x1p-20) * (2 * s.uniform() - 1);
    case Attack::Rounding::nearest:
      break;
  }
  return 0;
}

bool rounds_to_nearest() { return attack_state().attack.rounding == Attack::Rounding::nearest; }

// x as a kernel may keep it whose subnormals are flushed.
template <class V>
V flushed(const V& x, const Format& f) {
  using C = Carrier<V>;
  if (!arithmetic().flushes || !(C::size(x) < static_cast<typename C::Bound>(f.min_normal)) ||
      !attack_state().coin())
    return x;
  return V(C::negative(x) ? -0.0 : 0.0);
}

// x, which is exact, as a kernel may round it to a format: within half a unit in the last place of x. Numbers
// of the format have subnormal sums that need no rounding; the perturbed numbers here do not, which must not
// count.
template <class V>
V rounded(const V& x, const Rounding& to, bool is_sum = false) {
  using C = Carrier<V>;
  if (!C::finite(x) || x == V{}) return x;
  const Format& f = to.format;
  V r = x;
  if (C::size(x) >= static_cast<typename C::Bound>(to.overflow)) {
    r = V(C::negative(x) ? -HUGE_VAL : HUGE_VAL);
  } else if (rounds_to_nearest() ||
             (!is_sum && C::size(x) < static_cast<typename C::Bound>(to.half_subnormal))) {
    r = V(round_to(x, f));
  } else {
    const bool subnormal = !is_sum && C::size(x) < static_cast<typename C::Bound>(f.min_normal);
    const V half_unit = subnormal ? V(to.half_subnormal) : abs(x) * V(f.unit);
    const V nearest(round_to(x, f));
    if (abs(x - nearest) <= half_unit * V(detail::kNearby))
      r = nearest;  // no kernel rounds it elsewhere
    else
      r = x + half_unit * V(direction());
  }
  if (C::finite(r) && C::size(r) > static_cast<typename C::Bound>(f.max))
    r = V(C::negative(x) ? -f.max : f.max);
  return flushed(r, f);
}

template <class V>
V accumulated_sum(const V& a, const V& b) {
  const V sum = rounded<V>(a + b, arithmetic().accumulate, true);
  const auto at_once = arithmetic().cut_off.at_once;
  if (at_once == 0 || rounds_to_nearest() || !Carrier<V>::finite(sum) || sum == V(round_to(a + b, arithmetic().accumulate.format)))
    return sum;
  // Besides that rounding, for the size of the larger one: what is cut off is lost even where the two cancel.
  const V size = abs(a + b), larger = abs(a) < abs(b) ? abs(b) : abs(a);
  const V beyond = larger < size ? V{} : V(larger - size);
  return sum + (beyond + size * V(2.0 / static_cast<double>(at_once))) * V(arithmetic().accumulate.format.unit * direction());
}

// A term as it enters the accumulator.
template <class V>
V entered(const Adversary<V>& x) {
  const V v = addend(x);
  return arithmetic().accumulates_narrower && attack_state().coin() ? rounded(v, arithmetic().accumulate) : v;
}

// One after the other; the last addition is left to the caller, who rounds it where it goes.
template <class V>
V sequential(const std::vector<V>& values, std::size_t begin, std::size_t end, bool last_open) {
  V s = values[begin];
  for (std::size_t k = begin + 1; k < end; ++k)
    s = last_open && k + 1 == end ? V(s + values[k]) : accumulated_sum(s, values[k]);
  return s;
}

template <class V>
V pairwise(const std::vector<V>& values, std::size_t begin, std::size_t end, bool last_open) {
  if (end - begin == 1) return values[begin];
  const std::size_t middle = begin + (end - begin + 1) / 2;
  const V a = pairwise(values, begin, middle, false);
  const V b = pairwise(values, middle, end, false);
  return last_open ? V(a + b) : accumulated_sum(a, b);
}

}  // namespace

template <class V>
Adversary<V>::Adversary(double literal) : value(literal) {
  if (std::isfinite(literal) && attack_state().coin())
    value = V(round_to(literal, arithmetic().compute.format));
  value = flushed(value, arithmetic().compute.format);
}

template <class V>
Adversary<V> ScalarOps<Adversary<V>>::input(double x) {
  if (arithmetic().daz && std::fabs(x) < arithmetic().compute.format.min_normal && attack_state().coin())
    x = std::copysign(0.0, x);
  const V v(x);
  const bool fits =
      x == 0 || !std::isfinite(x) || detail::representable(v, Carrier<V>::grid(v), arithmetic().compute);
  return {v, fits ? Adversary<V>::Pending::none : Adversary<V>::Pending::input};
}

template <class V>
V settled(const Adversary<V>& x) {
  using Pending = typename Adversary<V>::Pending;
  if (x.pending == Pending::none || x.pending == Pending::input) return x.value;
  return rounded(x.value, arithmetic().compute, x.pending == Pending::sum);
}

template <class V>
V accumulated(const V& x, bool is_sum) {
  return rounded<V>(x, arithmetic().accumulate, is_sum);
}

template <class V>
V addend(const Adversary<V>& x) {
  return x.pending == Adversary<V>::Pending::product && attack_state().attack.fuse ? x.value : settled(x);
}

template <class V>
Adversary<V> disorderly_sum(std::vector<Adversary<V>>& terms) {
  using Pending = typename Adversary<V>::Pending;
  AttackState& s = attack_state();
  const Arithmetic& a = arithmetic();
  if (terms.empty()) return {V{}, Pending::none};
  // Adding zero rounds nothing, but could round one of the perturbed numbers here a second time.
  V zeros = s.coin() ? V{} : terms[0].value;  // or it starts from its first term
  std::erase_if(terms, [&](const Adversary<V>& t) {
    const bool zero = t.value == V{};
    if (zero) zeros = zeros + t.value;
    return zero;
  });
  if (terms.empty()) return {zeros, Pending::none};
  if (terms.size() == 1) {
    if (!a.accumulates_narrower) return with_zero(terms[0]);
    return {rounded(addend(terms[0]), a.accumulate), Pending::none};
  }
  if (s.attack.shuffle)
    for (std::size_t i = terms.size(); i > 1; --i) std::swap(terms[i - 1], terms[s.below(i)]);
  std::vector<V> values;
  values.reserve(terms.size());
  for (const Adversary<V>& t : terms) values.push_back(entered(t));

  // The last addition stays pending where it is the rounding to the compute format.
  const bool last_open = a.accumulates_in_compute;
  const auto finished = [&](const V& total) {
    return Adversary<V>{total, last_open ? Pending::sum : Pending::other};
  };
  if (a.chain.kind != Chain::Kind::any) {
    const std::size_t block = a.chain.block_of(values.size());
    if (values.size() <= block) return finished(sequential(values, 0, values.size(), last_open));
    std::vector<V> sums;
    for (std::size_t k = 0; k < values.size(); k += block)
      sums.push_back(sequential(values, k, std::min(k + block, values.size()), false));
    return finished(a.chain.kind == Chain::Kind::pairwise ? pairwise(sums, 0, sums.size(), last_open)
                                                          : sequential(sums, 0, sums.size(), last_open));
  }
  if (!s.attack.shuffle || s.coin()) return finished(sequential(values, 0, values.size(), last_open));
  while (values.size() > 2) {  // any two of what is left
    std::swap(values[s.below(values.size())], values.back());
    const V x = values.back();
    values.pop_back();
    V& y = values[s.below(values.size())];
    y = accumulated_sum(y, x);
  }
  return finished(last_open ? V(values[0] + values[1]) : accumulated_sum(values[0], values[1]));
}

bool adds_in_order() { return !attack_state().attack.shuffle; }

namespace {

// The sum of blocks, of which one comes after the other, as trees of 1, 2, 4, .. blocks: no term passes through more additions than
// the logarithm of their number and one.
template <class V>
class Trees {
 public:
  void add(V block) {
    std::size_t level = 0;
    for (; level < trees_.size() && trees_[level]; ++level) {
      block = accumulated_sum(*trees_[level], block);
      trees_[level].reset();
    }
    if (level == trees_.size()) trees_.emplace_back();
    trees_[level] = block;
  }
  // All of them, and another block, from the smallest tree on; the last addition is the caller's. Precondition: there are some.
  template <class Last>
  auto sum_with(V block, const Last& last) const {
    for (std::size_t level = 0; level + 1 < trees_.size(); ++level)
      if (trees_[level]) block = accumulated_sum(*trees_[level], block);
    return last(*trees_.back(), block);  // the largest is always there
  }

 private:
  std::vector<std::optional<V>> trees_;
};

}  // namespace

template <class V>
std::vector<Adversary<V>> orderly_sums(const std::vector<Adversary<V>>& terms) {
  using Pending = typename Adversary<V>::Pending;
  const Arithmetic& a = arithmetic();
  const bool last_open = a.accumulates_in_compute;
  const auto last = [&](const V& x, const V& y) {
    return last_open ? Adversary<V>{V(x + y), Pending::sum}
                     : Adversary<V>{accumulated_sum(x, y), Pending::other};
  };
  // Partial sums of each beginning would be other ones: a tree adds no more often.
  const bool partial = a.chain.kind == Chain::Kind::partial;
  const bool in_trees = a.chain.kind == Chain::Kind::pairwise || partial;
  const bool in_blocks = a.chain.kind == Chain::Kind::blocked || in_trees;
  const std::size_t block = partial ? 1 : a.chain.block_of(terms.size());
  std::vector<Adversary<V>> sums;
  sums.reserve(terms.size());
  V before{}, current{};  // the sums of the blocks before this one, and of this one so far
  Trees<V> trees;         // in place of `before`
  std::size_t count = 0;  // of terms that are not zero: adding zero rounds nothing
  V zeros =
      !terms.empty() && attack_state().coin() ? terms[0].value : V{};  // or it starts from its first term
  for (const Adversary<V>& t : terms) {
    if (t.value == V{}) {
      zeros = zeros + t.value;
      sums.push_back(count > 0 ? sums.back() : Adversary<V>{zeros, Pending::none});
      continue;
    }
    const bool first_of_block = count == 0 || (in_blocks && count % block == 0);
    const V v = entered(t);
    if (count == 0) {
      sums.push_back(a.accumulates_narrower ? Adversary<V>{rounded(addend(t), a.accumulate), Pending::none}
                                            : with_zero(t));
      current = v;
    } else if (!in_blocks || count < block) {
      sums.push_back(last(current, v));
      current = accumulated_sum(current, v);
    } else {
      if (first_of_block && in_trees) trees.add(current);
      if (first_of_block && !in_trees) before = count == block ? current : accumulated_sum(before, current);
      current = first_of_block ? v : accumulated_sum(current, v);
      sums.push_back(in_trees ? trees.sum_with(current, last) : last(before, current));
    }
    ++count;
  }
  return sums;
}

template <class V>
Adversary<V> operator*(const Adversary<V>& x, const Adversary<V>& y) {
  V a = settled(x);
  V b = settled(y);
  if (arithmetic().rounds_operands) {
    a = rounded(a, arithmetic().multiply);
    b = rounded(b, arithmetic().multiply);
  }
  return {a * b, Adversary<V>::Pending::product};
}

namespace {

// The further roundings of a division or root that is not correctly rounded.
template <class V>
Adversary<V> with_extra(const V& y, double extra) {
  using Pending = typename Adversary<V>::Pending;
  if (extra == 0 || !Carrier<V>::finite(y) || y == V{}) return {y, Pending::other};
  return {y + y * V(extra * direction()) * V(arithmetic().compute.format.unit), Pending::other};
}

}  // namespace

template <class V>
Adversary<V> operator/(const Adversary<V>& a, const Adversary<V>& b) {
  const V divisor = settled(b);
  const double extra = is_power_of_two(divisor) ? 0 : arithmetic().div_extra;
  return with_extra<V>(settled(a) / divisor, extra);
}

template <class V>
Adversary<V> sqrt(const Adversary<V>& x) {
  return with_extra<V>(sqrt(settled(x)), arithmetic().sqrt_extra);
}

template <class V>
Adversary<V> inexact(Function function, const V& y) {
  using C = Carrier<V>;
  using Pending = typename Adversary<V>::Pending;
  const Arithmetic& a = arithmetic();
  const Accuracy& accuracy = a.of(function);
  if (C::size(y) >= static_cast<typename C::Bound>(a.compute.overflow))
    return {V(C::negative(y) ? -HUGE_VAL : HUGE_VAL), Pending::none};
  if (C::nan(y)) return {y, Pending::none};
  if (a.ftz && C::size(y) < static_cast<typename C::Bound>(std::max(a.tiny, a.compute.format.min_normal)) &&
      attack_state().coin())
    return {V(C::negative(y) ? -0.0 : 0.0), Pending::none};
  if (accuracy.ulp <= 0.5 && accuracy.absolute == 0) return {y, Pending::other};

  const Format& f = a.compute.format;
  const int exponent = std::max(C::exponent(y), f.min_exponent);
  const long double ulp = std::ldexp(1.0L, exponent - f.precision + 1);
  const double away = rounds_to_nearest() ? (2 * attack_state().uniform() - 1) * (1 - 0x1p-20) : direction();
  V r = y + V((static_cast<long double>(accuracy.ulp) * ulp + static_cast<long double>(accuracy.absolute)) *
              static_cast<long double>(away));
  if (C::size(r) >= static_cast<typename C::Bound>(a.compute.overflow))
    r = V(C::negative(r) ? -HUGE_VAL : HUGE_VAL);
  return {flushed(r, f), Pending::none};
}

template <class V>
double stored(const Adversary<V>& x) {
  const Arithmetic& a = arithmetic();
  const Format& f = a.result.format;
  V v = x.value;
  using Pending = typename Adversary<V>::Pending;
  const bool rounds = x.pending != Pending::none && x.pending != Pending::input;
  if (rounds && !a.stores_compute && attack_state().coin()) v = V(round_to(v, a.compute.format));
  double r = round_to(v, f);
  if (a.faithful_store) r = attack_state().coin() ? round_up(v, f) : round_down(v, f);
  if (a.ftz && !a.integral && Carrier<V>::size(v) < static_cast<typename Carrier<V>::Bound>(f.min_normal) &&
      attack_state().coin())
    r = std::copysign(0.0, r);
  return r;
}

#define ASSAY_INSTANTIATE(V)                                                         \
  template struct Adversary<V>;                                                      \
  template struct ScalarOps<Adversary<V>>;                                           \
  template V settled(const Adversary<V>&);                                           \
  template V accumulated(const V&, bool);                                            \
  template V addend(const Adversary<V>&);                                            \
  template Adversary<V> disorderly_sum(std::vector<Adversary<V>>&);                  \
  template std::vector<Adversary<V>> orderly_sums(const std::vector<Adversary<V>>&); \
  template Adversary<V> operator*(const Adversary<V>&, const Adversary<V>&);         \
  template Adversary<V> operator/(const Adversary<V>&, const Adversary<V>&);         \
  template Adversary<V> sqrt(const Adversary<V>&);                                   \
  template Adversary<V> inexact(Function, const V&);                                 \
  template double stored(const Adversary<V>&);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay

// Adversary: a number as some conforming kernel might have it. Every rounding is perturbed by as much as the contract
// allows, sums are taken in random order and association, products are fused or not, subnormals are flushed or not.
// No result of it may lie outside the interval that Tracked gives: that is the test of Tracked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arithmetic.h"
#include "carrier.h"
#include "reference.h"

namespace assay {

// Of the evaluation that this thread is in, beside its Arithmetic.
struct AttackState {
  Attack attack;
  std::uint64_t random = 0;

  std::uint64_t next() {  // splitmix64, Steele, Lea and Flood 2014
    std::uint64_t z = (random += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  bool coin() { return (next() >> 63) != 0; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
};
namespace detail {
inline thread_local AttackState attack_state;
}
inline AttackState& attack_state() { return detail::attack_state; }

template <class V>
struct Adversary {
  // Which result this is, whose rounding to the compute format comes next; an input that is none of that format is only
  // rounded when zero is added to it.
  enum class Pending : std::uint8_t { none, input, product, sum, other };

  V value{};
  Pending pending = Pending::none;

  Adversary() = default;
  explicit Adversary(double literal);
  template <class Integer>
  requires std::is_integral_v<Integer>
  explicit Adversary(Integer literal) : Adversary(static_cast<double>(literal)) {}
  Adversary(V v, Pending p) : value(std::move(v)), pending(p) {}
};

// x rounded to its compute format, as the attack has it.
template <class V>
V settled(const Adversary<V>& x);
// x, the exact result of an operation, as a kernel may round it to the format in which it keeps sums.
template <class V>
V accumulated(const V& x, bool is_sum);
// x as an addition takes it: a product stays exact if it is fused.
template <class V>
V addend(const Adversary<V>& x);
// x + 0 for x that is not zero.
template <class V>
Adversary<V> with_zero(const Adversary<V>& x) {
  using Pending = typename Adversary<V>::Pending;
  // Adding zero rounds nothing: the number stays what it was, its own rounding still to come.
  return x.pending == Pending::input ? Adversary<V>{x.value, Pending::other} : x;
}
// The sum of the terms in an order and association that the contract's chain allows.
template <class V>
Adversary<V> disorderly_sum(std::vector<Adversary<V>>& terms);
// The sum of the first term, of the first two, and so on, where an attack adds in order: as disorderly_sum() has each, or, where a
// chain is pairwise, in trees that the sums share. A row may have a million terms: there are as many additions, of trees that many times
// their logarithm.
template <class V>
std::vector<Adversary<V>> orderly_sums(const std::vector<Adversary<V>>& terms);
bool adds_in_order();

template <class V>
Adversary<V> operator+(const Adversary<V>& a, const Adversary<V>& b) {
  if (a.value == V{} && !(b.value == V{})) return with_zero(b);
  if (b.value == V{} && !(a.value == V{})) return with_zero(a);
  return {addend(a) + addend(b), Adversary<V>::Pending::sum};
}
template <class V>
Adversary<V> operator-(const Adversary<V>& a) {
  return {-a.value, a.pending};
}
template <class V>
Adversary<V> operator-(const Adversary<V>& a, const Adversary<V>& b) {
  return a + -b;
}
template <class V>
Adversary<V> operator*(const Adversary<V>& a, const Adversary<V>& b);
template <class V>
Adversary<V> operator/(const Adversary<V>& a, const Adversary<V>& b);

template <class V>
bool operator<(const Adversary<V>& a, const Adversary<V>& b) {
  return settled(a) < settled(b);
}
template <class V>
bool operator>(const Adversary<V>& a, const Adversary<V>& b) {
  return b < a;
}
template <class V>
bool operator<=(const Adversary<V>& a, const Adversary<V>& b) {
  return settled(a) <= settled(b);
}
template <class V>
bool operator>=(const Adversary<V>& a, const Adversary<V>& b) {
  return b <= a;
}
template <class V>
bool operator==(const Adversary<V>& a, const Adversary<V>& b) {
  return settled(a) == settled(b);
}
template <class V>
bool operator!=(const Adversary<V>& a, const Adversary<V>& b) {
  return !(a == b);
}

template <class V>
Adversary<V> select(bool condition, const Adversary<V>& a, const Adversary<V>& b) {
  return condition ? a : b;
}
template <class V>
Adversary<V> group(const Adversary<V>& x) {
  return {settled(x), Adversary<V>::Pending::none};
}
template <class V>
bool finite_for_certain(const Adversary<V>& x) {
  return Carrier<V>::finite(x.value);
}
template <class V>
bool is_nan(const Adversary<V>& x) {
  return Carrier<V>::nan(settled(x));
}
template <class V>
Adversary<V> maximum(const Adversary<V>& a, const Adversary<V>& b) {
  return {maximum(settled(a), settled(b)), Adversary<V>::Pending::none};
}
template <class V>
Adversary<V> minimum(const Adversary<V>& a, const Adversary<V>& b) {
  return -maximum(-a, -b);
}
template <class V>
Adversary<V> trunc(const Adversary<V>& x) {
  return {trunc(settled(x)), Adversary<V>::Pending::none};
}
template <class V>
Adversary<V> floor(const Adversary<V>& x) {
  return {floor(settled(x)), Adversary<V>::Pending::none};
}
template <class V>
Adversary<V> rint(const Adversary<V>& x) {
  return {rint(settled(x)), Adversary<V>::Pending::none};
}
template <class V>
Adversary<V> fmod(const Adversary<V>& x, const Adversary<V>& y) {
  return {fmod(settled(x), settled(y)), Adversary<V>::Pending::none};
}
template <class V>
FloorRange floor_range(const Adversary<V>& x, std::int64_t n) {
  return floor_range(settled(x), n);
}
template <class V>
Adversary<V> abs(const Adversary<V>& x) {
  return {abs(x.value), x.pending};
}
template <class V>
Adversary<V> sqrt(const Adversary<V>& x);

// The exact function value y as a kernel of this accuracy may give it.
template <class V>
Adversary<V> inexact(Function f, const V& y);

template <class V>
Adversary<V> exp(const Adversary<V>& x) {
  return inexact<V>(Function::exp, exp(settled(x)));
}
template <class V>
Adversary<V> log(const Adversary<V>& x) {
  return inexact<V>(Function::log, log(settled(x)));
}
template <class V>
Adversary<V> tanh(const Adversary<V>& x) {
  return inexact<V>(Function::tanh, tanh(settled(x)));
}
template <class V>
Adversary<V> erf(const Adversary<V>& x) {
  return inexact<V>(Function::erf, erf(settled(x)));
}
template <class V>
Adversary<V> sin(const Adversary<V>& x) {
  return inexact<V>(Function::sin, sin(settled(x)));
}
template <class V>
Adversary<V> cos(const Adversary<V>& x) {
  return inexact<V>(Function::cos, cos(settled(x)));
}
template <class V>
Adversary<V> asin(const Adversary<V>& x) {
  return inexact<V>(Function::asin, asin(settled(x)));
}
template <class V>
Adversary<V> acos(const Adversary<V>& x) {
  return inexact<V>(Function::acos, acos(settled(x)));
}
template <class V>
Adversary<V> atan(const Adversary<V>& x) {
  return inexact<V>(Function::atan, atan(settled(x)));
}
template <class V>
Adversary<V> exp2(const Adversary<V>& x) {
  return inexact<V>(Function::exp2, exp2(settled(x)));
}
template <class V>
Adversary<V> log2(const Adversary<V>& x) {
  return inexact<V>(Function::log2, log2(settled(x)));
}
template <class V>
Adversary<V> expm1(const Adversary<V>& x) {
  return inexact<V>(Function::expm1, expm1(settled(x)));
}
template <class V>
Adversary<V> log1p(const Adversary<V>& x) {
  return inexact<V>(Function::log1p, log1p(settled(x)));
}
template <class V>
Adversary<V> pow(const Adversary<V>& x, const Adversary<V>& y) {
  return inexact<V>(Function::pow, pow(settled(x), settled(y)));
}
template <class V>
Adversary<V> atan2(const Adversary<V>& y, const Adversary<V>& x) {
  return inexact<V>(Function::atan2, atan2(settled(y), settled(x)));
}

// The result in memory, under the arithmetic of the scope.
template <class V>
double stored(const Adversary<V>& x);

template <class V>
struct ScalarOps<Adversary<V>> {
  static constexpr std::int64_t kMostInAnyOrder = 4096;  // sums that run along a row
  static Adversary<V> either(const Adversary<V>& a, const Adversary<V>& b) {
    return attack_state().coin() ? a : b;
  }
  static bool folds() { return arithmetic().folds_affine; }
  static bool rewrites() { return arithmetic().rewrites; }
  // Each element or row has random numbers of its own, whatever was read before.
  static void begin(int output, std::int64_t number) {
    AttackState& s = attack_state();
    s.random = s.attack.seed * 0xD1342543DE82EF95u + static_cast<std::uint64_t>(output);
    s.random = s.next() + static_cast<std::uint64_t>(number);
    s.random = s.next();
  }
  // Numbers of its own for what elements have in common, whichever of them asks for it.
  class Aside {
   public:
    explicit Aside(std::int64_t number) : saved_(attack_state().random) { begin(-2, number); }
    ~Aside() { attack_state().random = saved_; }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    std::uint64_t saved_;
  };
  static Adversary<V> input(double x);
  static Adversary<V> parameter(double x) { return Adversary<V>(x); }
  static Adversary<V> cast(const Adversary<V>& x, Dtype d) {
    return {V(round_to(settled(x), format(d))), Adversary<V>::Pending::none};
  }
  static Adversary<V> passed(const Adversary<V>& x, Dtype d) {
    if (!attack_state().attack.shuffle || !attack_state().coin()) return x;
    if (!holds_all_of_compute(format(d))) return cast(x, d);
    using Pending = typename Adversary<V>::Pending;
    if (x.pending == Pending::none || x.pending == Pending::input) return x;
    // What is in memory is a number of the format, which one that is rounded elsewhere than to the nearest is not.
    return {V(round_to(x.value, arithmetic().compute.format)), Pending::none};
  }
  template <class Term>
  static Adversary<V> sum(std::int64_t n, Term&& term) {
    std::vector<Adversary<V>> terms;
    terms.reserve(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) terms.push_back(term(k));
    return disorderly_sum(terms);
  }
  template <class Term, class Each>
  static void running_sums(std::int64_t n, Term&& term, Each&& each) {
    std::vector<Adversary<V>> all;
    all.reserve(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) all.push_back(term(k));
    // Each beginning in an order of its own takes quadratically long.
    if (adds_in_order() || n > kMostInAnyOrder) {
      const std::vector<Adversary<V>> sums = orderly_sums(all);
      for (std::int64_t k = 0; k < n; ++k) each(k, sums[static_cast<std::size_t>(k)]);
      return;
    }
    for (std::int64_t k = 0; k < n; ++k) {
      stop_point();
      std::vector<Adversary<V>> terms(all.begin(), all.begin() + k + 1);
      each(k, disorderly_sum(terms));
    }
  }
  // Among the kernel's own numbers, each read once.
  template <class Term>
  static Adversary<V> largest_at(std::int64_t n, Term&& term) {
    std::vector<V> x;
    for (std::int64_t k = 0; k < n; ++k) x.push_back(settled(term(k)));
    const auto better = [](const V& a, const V& b) {
      return Carrier<V>::nan(a) ? !Carrier<V>::nan(b) : a > b;
    };
    std::vector<std::int64_t> ties;
    for (std::int64_t k = 0; k < n; ++k) {
      const V& largest = x[static_cast<std::size_t>(ties.empty() ? k : ties.front())];
      if (better(x[static_cast<std::size_t>(k)], largest)) ties.clear();
      if (!better(largest, x[static_cast<std::size_t>(k)])) ties.push_back(k);
    }
    const std::size_t which = arithmetic().first_tie ? 0 : attack_state().below(ties.size());
    return {V(static_cast<double>(ties[which])), Adversary<V>::Pending::none};
  }
};

}  // namespace assay

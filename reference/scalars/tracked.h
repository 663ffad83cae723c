// What references do with Tracked numbers: the functions of scalar.h.
#pragma once

#include <span>
#include <vector>

#include "tape_rules.h"
#include "tracked_sum.h"

namespace assay {

template <class V>
Tracked<V> operator*(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tracked<V> operator/(const Tracked<V>& x, const Tracked<V>& y);

template <class V>
Tri operator<(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tri operator<=(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tri operator==(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tri operator>(const Tracked<V>& x, const Tracked<V>& y) {
  return y < x;
}
template <class V>
Tri operator>=(const Tracked<V>& x, const Tracked<V>& y) {
  return y <= x;
}
template <class V>
Tri operator!=(const Tracked<V>& x, const Tracked<V>& y) {
  return !(x == y);
}
template <class V>
Tri is_nan(const Tracked<V>& x);
template <class V>
Tracked<V> group(const Tracked<V>& x) {
  return closed(x);
}
template <class V>
bool finite_for_certain(const Tracked<V>& x) {
  return x.may_be == 0 && Carrier<V>::finite(x.value) &&
         x.error < std::numeric_limits<typename Tracked<V>::Bound>::infinity();
}

// Either of two closed numbers: the smallest set around `likely` that holds both.
template <class V>
Tracked<V> hull(const Tracked<V>& likely, const Tracked<V>& other);

template <class V>
Tracked<V> select(Tri condition, const Tracked<V>& a, const Tracked<V>& b) {
  if (condition.sure) return condition.value ? a : b;
  return condition.value ? hull(closed(a), closed(b)) : hull(closed(b), closed(a));
}

template <class V>
Tracked<V> maximum(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tracked<V> minimum(const Tracked<V>& x, const Tracked<V>& y) {
  return -maximum(-x, -y);
}
template <class V>
Tracked<V> abs(const Tracked<V>& x);
template <class V>
Tracked<V> trunc(const Tracked<V>& x);
template <class V>
Tracked<V> floor(const Tracked<V>& x);
template <class V>
Tracked<V> rint(const Tracked<V>& x);
template <class V>
Tracked<V> fmod(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
FloorRange floor_range(const Tracked<V>& x, std::int64_t n);
template <class V>
Tracked<V> sqrt(const Tracked<V>& x);
template <class V>
Tracked<V> pow(const Tracked<V>& x, const Tracked<V>& y);
template <class V>
Tracked<V> atan2(const Tracked<V>& y, const Tracked<V>& x);
// Every other elementary function.
template <class V>
Tracked<V> elementary(Function f, const Tracked<V>& x);

template <class V>
Tracked<V> exp(const Tracked<V>& x) {
  return elementary(Function::exp, x);
}
template <class V>
Tracked<V> log(const Tracked<V>& x) {
  return elementary(Function::log, x);
}
template <class V>
Tracked<V> tanh(const Tracked<V>& x) {
  return elementary(Function::tanh, x);
}
template <class V>
Tracked<V> erf(const Tracked<V>& x) {
  return elementary(Function::erf, x);
}
template <class V>
Tracked<V> sin(const Tracked<V>& x) {
  return elementary(Function::sin, x);
}
template <class V>
Tracked<V> cos(const Tracked<V>& x) {
  return elementary(Function::cos, x);
}
template <class V>
Tracked<V> asin(const Tracked<V>& x) {
  return elementary(Function::asin, x);
}
template <class V>
Tracked<V> acos(const Tracked<V>& x) {
  return elementary(Function::acos, x);
}
template <class V>
Tracked<V> atan(const Tracked<V>& x) {
  return elementary(Function::atan, x);
}
template <class V>
Tracked<V> exp2(const Tracked<V>& x) {
  return elementary(Function::exp2, x);
}
template <class V>
Tracked<V> log2(const Tracked<V>& x) {
  return elementary(Function::log2, x);
}
template <class V>
Tracked<V> expm1(const Tracked<V>& x) {
  return elementary(Function::expm1, x);
}
template <class V>
Tracked<V> log1p(const Tracked<V>& x) {
  return elementary(Function::log1p, x);
}

// Where the largest of closed numbers may be. What it admits is left in places().
template <class V>
Tracked<V> place_of_largest(std::span<const Tracked<V>> terms);

// line() of closed numbers mean and scale: tracked_line.cpp.
template <class V>
Tracked<V> tracked_line(const Tracked<V>& x, const Tracked<V>& mean, const Tracked<V>& scale,
                        const Tracked<V>& shift, const Tracked<V>& more);

// The results that may be stored for x under the arithmetic of the scope.
template <class V>
Interval finish(const Tracked<V>& x);

template <class V>
struct ScalarOps<Tracked<V>> {
  static Tracked<V> either(const Tracked<V>& a, const Tracked<V>& b) { return hull(closed(a), closed(b)); }
  static bool folds() { return arithmetic().folds_affine; }
  static bool rewrites() { return arithmetic().rewrites; }
  static Tracked<V> line(const Tracked<V>& x, const Tracked<V>& mean, const Tracked<V>& scale,
                         const Tracked<V>& shift, const Tracked<V>& more) {
    return tracked_line(x, mean, scale, shift, more);
  }
  static void begin(int, std::int64_t) {
    read_nonfinite() = false;
    places().clear();
  }
  static Tracked<V> input(double x) {
    if (std::isfinite(x) && !arithmetic().daz) return Tracked<V>::exact(V(x));
    return unusual_input(x);
  }
  static Tracked<V> parameter(double x) { return Tracked<V>(x); }
  static Tracked<V> cast(const Tracked<V>& x, Dtype d);
  static Tracked<V> passed(const Tracked<V>& x, Dtype d);
  using Products = OpenProducts<V>;  // for sum_of_products
  template <class Term>
  static Tracked<V> sum(std::int64_t n, Term&& term) {
    OpenSum<V> s;
    for (std::int64_t k = 0; k < n; ++k) {
      const Tape::Symbol next = next_on_tape<V>();
      s.add(term(k), next);
    }
    return s.total();
  }
  template <class Term, class Each>
  static void running_sums(std::int64_t n, Term&& term, Each&& each) {
    OpenSum<V> s;
    for (std::int64_t k = 0; k < n; ++k) {
      s.add(term(k));
      s.note_so_far();
      each(k, OpenSum<V>(s).total());
    }
  }
  template <class Term>
  static Tracked<V> largest_at(std::int64_t n, Term&& term) {
    std::vector<Tracked<V>> terms;
    terms.reserve(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) terms.push_back(closed(term(k)));
    return place_of_largest<V>(terms);
  }

 private:
  static Tracked<V> unusual_input(double x);  // not finite, or perhaps read as zero
};

}  // namespace assay

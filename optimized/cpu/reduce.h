// Reductions over any dimensions of any layout: sums and maxima. Compiled for each level.
//
//   struct Op {
//     static constexpr bool centres = false;               // goes through the elements twice: around their mean
//     static constexpr bool exact = false;                 // combine() never rounds: any order gives the same
//     V identity(D d) const;                               // combined with anything, gives that
//     V combine(D d, V a, V b) const;
//     V result(D d, V total, std::int64_t n) const;        // from what n elements gave
//     V centred(D d, V x, V mean) const;                   // if it centres: what is combined the second time
//   };
//   reduce(op, in, out, axes, keepdim);
//
// The input is converted to the output's dtype first. What is compiled for an operator are loops over elements, into
// chains. How the elements lie in memory is the business of the driver (reduce.cpp), which knows the loops by their addresses.
#include "lanes.h"
#include "reduced.h"

#if defined(ASSAY_CPU_REDUCE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_REDUCE_H
#undef ASSAY_CPU_REDUCE_H
#else
#define ASSAY_CPU_REDUCE_H
#endif

#ifndef ASSAY_CPU_REDUCE_LOOPS
#define ASSAY_CPU_REDUCE_LOOPS
namespace assay::cpu {

inline constexpr std::int64_t kReduceChains = 16;

// Elements of some reductions that are neighbours: element i of reduction r at x[i * step + r].
template <class E>
struct ReducedLanes {
  const E* x;
  std::int64_t step, count, reductions;
};

// Into chains; [1] around a mean, if the operator centres. `first` is the number of the first element.
template <class E, class C = Compute<E>>
struct ReducePasses {
  // All elements of a dense reduction: the total, or the result if it is the last pass.
  C (*row[2])(const void* op, const E* x, std::int64_t n, C mean);
  // Element i into chain i mod kReduceChains. Of what is computed with; of other types nullptr.
  void (*along[2])(const void* op, C* chains, const C* x, std::int64_t n, C mean);
  // Chain c of reduction r at chains[c * width + r]; width is a multiple of a vector.
  void (*in_lanes[2])(const void* op, C* chains, std::int64_t width, std::int64_t first,
                      const ReducedLanes<E>& from, const C* means);
};

template <class C>
struct ReduceRest {
  C (*identity)(const void* op);
  // Of chains, what a row gives.
  C (*of_chains[2])(const void* op, const C* chains, std::int64_t elements);
  // to[i] = combine(to[i], from[i]), i in [0, n), whole vectors.
  void (*combine)(const void* op, C* to, const C* from, std::int64_t n);
  // Of totals[0] to the end of the vector that has the last of n.
  void (*results)(const void* op, C* totals, std::int64_t n, std::int64_t elements);
};

struct ReduceOperator {
  const void* op;
  bool centres;
  ReducePasses<double> f64;
  ReducePasses<float> f32;
  ReducePasses<F16> f16;
  ReducePasses<BF16> bf16;
  ReduceRest<double> of_f64;
  ReduceRest<float> of_f32;
};

}  // namespace assay::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void reduce(const ReduceOperator& op, const View& in, const View& out, const Axes& axes, bool keepdim);

template <class Op, class C>
struct LoopsOfReduction {
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  static constexpr std::int64_t vectors = kReduceChains / lanes;

  template <bool second>
  static HWY_INLINE V term(const Op& op, V x, [[maybe_unused]] V mean) {
    if constexpr (second)
      return op.centred(D(), x, mean);
    else
      return x;
  }

  template <bool second, class E>
  static HWY_INLINE void accumulate(const Op& op, V* chain, const E* x, std::int64_t n, V mean) {
    const D d;
    const std::int64_t whole = n / kReduceChains * kReduceChains;
    std::int64_t i = 0;
    if constexpr (Op::exact) {  // fewer operations wait for the last one
      constexpr std::int64_t step = kReduceChains;
      for (; i + 4 * step <= whole; i += 4 * step)
        for (std::int64_t v = 0; v < vectors; ++v) {
          const E* const at = x + i + v * lanes;
          const V first = op.combine(d, load(d, at), load(d, at + step));
          const V second_pair = op.combine(d, load(d, at + 2 * step), load(d, at + 3 * step));
          chain[v] = op.combine(d, chain[v], op.combine(d, first, second_pair));
        }
    }
    for (; i < whole; i += kReduceChains)
      for (std::int64_t v = 0; v < vectors; ++v)
        chain[v] = op.combine(d, chain[v], term<second>(op, load(d, x + i + v * lanes), mean));
    for (std::int64_t v = 0; i < n; i += lanes, ++v) {
      const std::int64_t left = HWY_MIN(n - i, lanes);
      const V value = term<second>(op, left < lanes ? load_n(d, x + i, left) : load(d, x + i), mean);
      const auto there = hn::FirstN(d, static_cast<std::size_t>(left));
      chain[v] = op.combine(d, chain[v], hn::IfThenElse(there, value, op.identity(d)));
    }
  }

  // Lanes as a tree.
  template <class Part>
  static HWY_INLINE C fold_lanes(const Op& op, Part /*d*/, hn::Vec<Part> v) {
    if constexpr (hn::MaxLanes(Part()) == 1) {
      return hn::GetLane(v);
    } else {
      const hn::Half<Part> half;
      return fold_lanes(op, half, op.combine(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  }
  template <bool second>
  static HWY_INLINE C total(const Op& op, V* chain, std::int64_t n) {
    for (std::int64_t w = vectors / 2; w > 0; w /= 2)
      for (std::int64_t v = 0; v < w; ++v) chain[v] = op.combine(D(), chain[v], chain[v + w]);
    const C all = fold_lanes(op, D(), chain[0]);
    if constexpr (second != Op::centres) return all;
    const hn::CappedTag<C, 1> one;
    return hn::GetLane(op.result(one, hn::Set(one, all), n));
  }

  template <bool second, class E>
  static HWY_NOINLINE C row(const void* given, const E* x, std::int64_t n, C mean) {
    const Op op = *static_cast<const Op*>(given);
    V chain[vectors];
    for (V& c : chain) c = op.identity(D());
    accumulate<second>(op, chain, x, n, hn::Set(D(), mean));
    return total<second>(op, chain, n);
  }
  template <bool second>
  static HWY_NOINLINE void along(const void* given, C* chains, const C* x, std::int64_t n, C mean) {
    const Op op = *static_cast<const Op*>(given);
    V chain[vectors];
    for (std::int64_t v = 0; v < vectors; ++v) chain[v] = hn::LoadU(D(), chains + v * lanes);
    accumulate<second>(op, chain, x, n, hn::Set(D(), mean));
    for (std::int64_t v = 0; v < vectors; ++v) hn::StoreU(chain[v], D(), chains + v * lanes);
  }
  template <bool second>
  static HWY_NOINLINE C of_chains(const void* given, const C* chains, std::int64_t n) {
    const Op op = *static_cast<const Op*>(given);
    V chain[vectors];
    for (std::int64_t v = 0; v < vectors; ++v) chain[v] = hn::LoadU(D(), chains + v * lanes);
    return total<second>(op, chain, n);
  }

  template <bool second, class E>
  static HWY_NOINLINE void in_lanes(const void* given, C* chains, std::int64_t width, std::int64_t first,
                                    const ReducedLanes<E>& from, const C* means) {
    const Op op = *static_cast<const Op*>(given);
    const D d;
    const std::int64_t n = from.reductions;
    for (std::int64_t i = 0; i < from.count; ++i) {
      const E* const x = from.x + i * from.step;
      C* const chain = chains + (first + i) % kReduceChains * width;
      const auto add = [&](std::int64_t v, V value) HWY_ATTR {
        const V mean = second ? hn::LoadU(d, means + v) : hn::Zero(d);
        hn::StoreU(op.combine(d, hn::LoadU(d, chain + v), term<second>(op, value, mean)), d, chain + v);
      };
      std::int64_t v = 0;
      for (; v + lanes <= n; v += lanes) add(v, load(d, x + v));
      if (v < n) add(v, load_n(d, x + v, n - v));
    }
  }

  static C identity(const void* given) { return hn::GetLane(static_cast<const Op*>(given)->identity(D())); }
  static HWY_NOINLINE void combine(const void* given, C* to, const C* from, std::int64_t n) {
    const Op op = *static_cast<const Op*>(given);
    const D d;
    for (std::int64_t i = 0; i < n; i += lanes)
      hn::StoreU(op.combine(d, hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  }
  static HWY_NOINLINE void results(const void* given, C* totals, std::int64_t n, std::int64_t elements) {
    const Op op = *static_cast<const Op*>(given);
    const D d;
    for (std::int64_t i = 0; i < n; i += lanes)
      hn::StoreU(op.result(d, hn::LoadU(d, totals + i), elements), d, totals + i);
  }

  template <class E>
  static constexpr ReducePasses<E> passes() {
    ReducePasses<E> all{{row<false, E>, nullptr}, {nullptr, nullptr}, {in_lanes<false, E>, nullptr}};
    if constexpr (Op::centres) {
      all.row[1] = row<true, E>;
      all.in_lanes[1] = in_lanes<true, E>;
    }
    if constexpr (std::is_same_v<E, C>) {
      all.along[0] = along<false>;
      if constexpr (Op::centres) all.along[1] = along<true>;
    }
    return all;
  }
  static constexpr ReduceRest<C> rest() {
    ReduceRest<C> all{identity, {of_chains<false>, nullptr}, combine, results};
    if constexpr (Op::centres) all.of_chains[1] = of_chains<true>;
    return all;
  }
};

template <class Op>
void reduce(const Op& op, const View& in, const View& out, const Axes& axes, bool keepdim) {
  using Double = LoopsOfReduction<Op, double>;
  using Float = LoopsOfReduction<Op, float>;
  const ReduceOperator loops{&op,
                             Op::centres,
                             Double::template passes<double>(),
                             Float::template passes<float>(),
                             Float::template passes<F16>(),
                             Float::template passes<BF16>(),
                             Double::rest(),
                             Float::rest()};
  reduce(loops, in, out, axes, keepdim);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// The driver of reductions over any dimensions of any layout: sums and maxima. Compiled for each level.
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
// The input is converted to the output's dtype first. Elements are numbered in row-major order of the reduced
// dimensions, whatever their strides; element j goes into chain j mod kReduceChains, and the chains are combined
// as a tree. Two ways through memory keep to that, so that bits do not depend on strides, and a term of a sum
// passes at most n / 16 + 5 additions. Along: a vector holds neighbours of one reduction; what is not dense is
// gathered first. In lanes: each lane has a reduction of its own, for outputs whose inputs lie side by side and
// for short reductions; there up to kReduceWidth neighbours are taken together, so that memory is read in long pieces.
#include "gather.h"
#include "lanes.h"
#include "parallel.h"
#include "reduced.h"

#if defined(ASSAY_CPU_REDUCE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_REDUCE_H
#undef ASSAY_CPU_REDUCE_H
#else
#define ASSAY_CPU_REDUCE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kReduceChains = 16;
inline constexpr std::int64_t kReduceBlock = 1024;     // elements that are gathered at a time
inline constexpr std::int64_t kReduceWidth = 128;      // reductions that go side by side
inline constexpr std::int64_t kShortReductions = 16;   // elements up to which lanes are filled by reductions
inline constexpr std::int64_t kReduceGrain = 1 << 14;  // elements that are worth another thread

template <class T, class Op>
class Reduction {
 public:
  Reduction(const Op& op, const View& in, const View& out, const Axes& axes, bool keepdim)
      : op_(op), in_(in), out_(out), space_(reduced_space(out, in, axes, keepdim)) {
    one_type_ = in.type() == out.type();
    dense_ = one_type_ && space_.rank == 1 && space_.stride[0] == 1;
    const bool beside = space_.kept.rank > 0 && one_type_ && space_.kept.stride[1][0] == 1;
    in_lanes_ = !dense_ && (beside || (space_.kept.rank > 0 && space_.count <= kShortReductions));
  }

  void run() const {
    parallel_for(space_.kept.count, 1 + kReduceGrain / (space_.count + 1),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   HWY_ALIGN C buffer[kReduceBlock];
                   for (Runs run(space_.kept, begin, end); !run.done(); run.next())
                     for (std::int64_t i = 0; i < run.length; i += in_lanes_ ? kReduceWidth : 1) {
                       char* const y = at(out_, run.offset[0] + i * step(0));
                       const char* const x = at(in_, run.offset[1] + i * step(1));
                       if (in_lanes_)
                         side_by_side(y, x, HWY_MIN(kReduceWidth, run.length - i), buffer);
                       else
                         along(y, x, buffer);
                     }
                 });
  }

 private:
  using C = Compute<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  static constexpr std::int64_t vectors = kReduceChains / lanes;

  std::int64_t step(std::size_t operand) const { return space_.kept.step(operand); }
  static char* at(const View& view, std::int64_t offset) {
    return static_cast<char*>(view.data) + offset * (view.dtype.bits / 8);
  }
  const char* moved(const char* x, std::int64_t elements) const {
    return x + elements * (in_.dtype.bits / 8);
  }

  template <bool second>
  HWY_INLINE V term(V x, V mean) const {
    if constexpr (second)
      return op_.centred(D(), x, mean);
    else
      return x;
  }

  // n elements into the chains, the first one into chain 0.
  template <bool second, class E>
  HWY_INLINE void accumulate(V* chains, const E* x, std::int64_t n, V mean) const {
    const D d;
    V chain[vectors];
    for (std::int64_t v = 0; v < vectors; ++v) chain[v] = chains[v];
    const std::int64_t whole = n / kReduceChains * kReduceChains;
    std::int64_t i = 0;
    if constexpr (Op::exact) {  // fewer operations wait for the last one
      constexpr std::int64_t step = kReduceChains;
      for (; i + 4 * step <= whole; i += 4 * step)
        for (std::int64_t v = 0; v < vectors; ++v) {
          const E* const at = x + i + v * lanes;
          const V first = op_.combine(d, load(d, at), load(d, at + step));
          const V second_pair = op_.combine(d, load(d, at + 2 * step), load(d, at + 3 * step));
          chain[v] = op_.combine(d, chain[v], op_.combine(d, first, second_pair));
        }
    }
    for (; i < whole; i += kReduceChains)
      for (std::int64_t v = 0; v < vectors; ++v)
        chain[v] = op_.combine(d, chain[v], term<second>(load(d, x + i + v * lanes), mean));
    for (std::int64_t v = 0; v < vectors; ++v) chains[v] = chain[v];
    for (std::int64_t v = 0; i < n; i += lanes, ++v) {
      const std::int64_t left = HWY_MIN(n - i, lanes);
      const V value = term<second>(left < lanes ? load_n(d, x + i, left) : load(d, x + i), mean);
      chains[v] =
          op_.combine(d, chains[v],
                      hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(left)), value, op_.identity(d)));
    }
  }

  // One pass over one reduction.
  template <bool second>
  HWY_INLINE C pass(const char* x, C* buffer, V mean) const {
    const D d;
    V chain[vectors];
    for (V& c : chain) c = op_.identity(d);
    if (dense_) {
      accumulate<second>(chain, reinterpret_cast<const T*>(x), space_.count, mean);
    } else {
      std::int64_t filled = 0;
      for (Walk walk(space_); !walk.done(); walk.next())
        for (std::int64_t i = 0; i < space_.size[0];) {
          const std::int64_t n = HWY_MIN(kReduceBlock - filled, space_.size[0] - i);
          gather(buffer + filled, moved(x, walk.offset() + i * space_.stride[0]), in_.type(),
                 space_.stride[0], out_.type(), n);
          filled += n;
          i += n;
          if (filled < kReduceBlock) continue;
          accumulate<second>(chain, buffer, filled, mean);
          filled = 0;
        }
      accumulate<second>(chain, buffer, filled, mean);
    }
    for (std::int64_t w = vectors / 2; w > 0; w /= 2)
      for (std::int64_t v = 0; v < w; ++v) chain[v] = op_.combine(d, chain[v], chain[v + w]);
    return fold_lanes(d, chain[0]);
  }

  // Lanes as a tree.
  template <class Part>
  HWY_INLINE C fold_lanes(Part /*d*/, hn::Vec<Part> v) const {
    if constexpr (hn::MaxLanes(Part()) == 1) {
      return hn::GetLane(v);
    } else {
      const hn::Half<Part> half;
      return fold_lanes(half, op_.combine(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  }

  HWY_NOINLINE void along(char* y, const char* x, C* buffer) const {
    const D d;
    const hn::CappedTag<C, 1> one;
    C total = pass<false>(x, buffer, hn::Zero(d));
    if constexpr (Op::centres)
      total = pass<true>(x, buffer, hn::Set(d, total / static_cast<C>(space_.count)));
    const C result = hn::GetLane(op_.result(one, hn::Set(one, total), space_.count));
    if constexpr (std::is_same_v<T, C>)
      *reinterpret_cast<T*>(y) = result;
    else
      scatter(y, out_.type(), 1, &result, 1);
  }

  // One pass over `rows` reductions, at most kReduceWidth, to `totals`.
  template <bool second>
  HWY_INLINE void pass_in_lanes(const char* x, std::int64_t rows, C* buffer, const C* means,
                                C* totals) const {
    const D d;
    const bool direct = one_type_ && step(1) == 1;
    const std::int64_t width = (rows + lanes - 1) / lanes * lanes;
    HWY_ALIGN C chains[kReduceChains * kReduceWidth];
    for (std::int64_t i = 0; i < kReduceChains * width; i += lanes) hn::Store(op_.identity(d), d, chains + i);
    for (std::int64_t i = 0; i < width; ++i) buffer[i] = C{0};
    std::int64_t j = 0;
    for (Walk walk(space_); !walk.done(); walk.next())
      for (std::int64_t i = 0; i < space_.size[0]; ++i, ++j) {
        const char* const from = moved(x, walk.offset() + i * space_.stride[0]);
        C* const chain = chains + j % kReduceChains * width;
        const auto add = [&](std::int64_t v, V value) HWY_ATTR {
          const V mean = second ? hn::Load(d, means + v) : hn::Zero(d);
          hn::Store(op_.combine(d, hn::Load(d, chain + v), term<second>(value, mean)), d, chain + v);
        };
        if (!direct) {
          gather(buffer, from, in_.type(), step(1), out_.type(), rows);
          for (std::int64_t v = 0; v < width; v += lanes) add(v, hn::Load(d, buffer + v));
          continue;
        }
        const T* const p = reinterpret_cast<const T*>(from);
        std::int64_t v = 0;
        for (; v + lanes <= rows; v += lanes) add(v, load(d, p + v));
        if (v < rows) add(v, load_n(d, p + v, rows - v));
      }
    for (std::int64_t w = kReduceChains / 2; w > 0; w /= 2)
      for (std::int64_t i = 0; i < w * width; i += lanes)
        hn::Store(op_.combine(d, hn::Load(d, chains + i), hn::Load(d, chains + i + w * width)), d,
                  chains + i);
    for (std::int64_t v = 0; v < width; v += lanes) hn::Store(hn::Load(d, chains + v), d, totals + v);
  }

  HWY_NOINLINE void side_by_side(char* y, const char* x, std::int64_t rows, C* buffer) const {
    const D d;
    HWY_ALIGN C totals[kReduceWidth];
    pass_in_lanes<false>(x, rows, buffer, nullptr, totals);
    if constexpr (Op::centres) {
      HWY_ALIGN C means[kReduceWidth];
      for (std::int64_t v = 0; v < rows; v += lanes)
        hn::Store(hn::Div(hn::Load(d, totals + v), hn::Set(d, static_cast<C>(space_.count))), d, means + v);
      pass_in_lanes<true>(x, rows, buffer, means, totals);
    }
    for (std::int64_t v = 0; v < rows; v += lanes)
      hn::Store(op_.result(d, hn::Load(d, totals + v), space_.count), d, totals + v);
    scatter(y, out_.type(), step(0), totals, rows);
  }

  const Op& op_;
  const View& in_;
  const View& out_;
  ReducedSpace space_;
  bool one_type_, dense_, in_lanes_;
};

template <class Op>
void reduce(const Op& op, const View& in, const View& out, const Axes& axes, bool keepdim) {
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, Reduction<T, Op>(op, in, out, axes, keepdim).run());
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// The driver of reductions over any dimensions of any layout: sums and maxima. Compiled for each level.
//
//   struct Op {
//     static constexpr bool centres = false;               // goes through the elements twice: around their mean
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
// for short reductions.
#include "gather.h"
#include "lanes.h"
#include "parallel.h"
#include "reduced.h"

#if defined(ASSAY_CPU_REDUCE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_CPU_REDUCE_H
#undef ASSAY_CPU_REDUCE_H
#else
#define ASSAY_CPU_REDUCE_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kReduceChains = 16;
inline constexpr std::int64_t kReduceBlock = 1024;     // elements that are gathered at a time
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
                     for (std::int64_t i = 0; i < run.length; i += in_lanes_ ? lanes : 1) {
                       char* const y = at(out_, run.offset[0] + i * step(0));
                       const char* const x = at(in_, run.offset[1] + i * step(1));
                       if (in_lanes_)
                         side_by_side(y, x, HWY_MIN(lanes, run.length - i), buffer);
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
  HWY_INLINE void accumulate(V* chain, const E* x, std::int64_t n, V mean) const {
    const D d;
    const std::int64_t whole = n / kReduceChains * kReduceChains;
    for (std::int64_t i = 0; i < whole; i += kReduceChains)
      for (std::int64_t v = 0; v < vectors; ++v)
        chain[v] = op_.combine(d, chain[v], term<second>(load(d, x + i + v * lanes), mean));
    for (std::int64_t i = whole, v = 0; i < n; i += lanes, ++v) {
      const std::int64_t left = HWY_MIN(n - i, lanes);
      const V value = term<second>(left < lanes ? load_n(d, x + i, left) : load(d, x + i), mean);
      chain[v] = op_.combine(
          d, chain[v], hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(left)), value, op_.identity(d)));
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
    HWY_ALIGN C chains[kReduceChains];
    for (std::int64_t v = 0; v < vectors; ++v) hn::Store(chain[v], d, chains + v * lanes);
    const hn::CappedTag<C, 1> one;
    for (std::int64_t w = kReduceChains / 2; w > 0; w /= 2)
      for (std::int64_t i = 0; i < w; ++i)
        chains[i] = hn::GetLane(op_.combine(one, hn::Set(one, chains[i]), hn::Set(one, chains[i + w])));
    return chains[0];
  }

  HWY_NOINLINE void along(char* y, const char* x, C* buffer) const {
    const D d;
    const hn::CappedTag<C, 1> one;
    C total = pass<false>(x, buffer, hn::Zero(d));
    if constexpr (Op::centres)
      total = pass<true>(x, buffer, hn::Set(d, total / static_cast<C>(space_.count)));
    const C result = hn::GetLane(op_.result(one, hn::Set(one, total), space_.count));
    scatter(y, out_.type(), 1, &result, 1);
  }

  // One pass over `rows` reductions, at most a vector of them.
  template <bool second>
  HWY_INLINE V pass_in_lanes(const char* x, std::int64_t rows, C* buffer, V mean) const {
    const D d;
    const bool direct = one_type_ && step(1) == 1;
    HWY_ALIGN C chains[kReduceChains * lanes];
    for (std::int64_t i = 0; i < kReduceChains; ++i) hn::Store(op_.identity(d), d, chains + i * lanes);
    for (std::int64_t i = 0; i < lanes; ++i) buffer[i] = C{0};
    std::int64_t j = 0;
    for (Walk walk(space_); !walk.done(); walk.next())
      for (std::int64_t i = 0; i < space_.size[0]; ++i, ++j) {
        const char* const from = moved(x, walk.offset() + i * space_.stride[0]);
        V value;
        if (direct) {
          const T* const p = reinterpret_cast<const T*>(from);
          value = rows < lanes ? load_n(d, p, rows) : load(d, p);
        } else {
          gather(buffer, from, in_.type(), step(1), out_.type(), rows);
          value = hn::Load(d, buffer);
        }
        C* const chain = chains + j % kReduceChains * lanes;
        hn::Store(op_.combine(d, hn::Load(d, chain), term<second>(value, mean)), d, chain);
      }
    for (std::int64_t w = kReduceChains / 2; w > 0; w /= 2)
      for (std::int64_t i = 0; i < w; ++i)
        hn::Store(op_.combine(d, hn::Load(d, chains + i * lanes), hn::Load(d, chains + (i + w) * lanes)), d,
                  chains + i * lanes);
    return hn::Load(d, chains);
  }

  HWY_NOINLINE void side_by_side(char* y, const char* x, std::int64_t rows, C* buffer) const {
    const D d;
    V total = pass_in_lanes<false>(x, rows, buffer, hn::Zero(d));
    if constexpr (Op::centres)
      total = pass_in_lanes<true>(x, rows, buffer, hn::Div(total, hn::Set(d, static_cast<C>(space_.count))));
    hn::Store(op_.result(d, total, space_.count), d, buffer);
    scatter(y, out_.type(), step(0), buffer, rows);
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

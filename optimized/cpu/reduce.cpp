// The driver of reductions.
//
// Elements are numbered in row-major order of the reduced dimensions, whatever their strides; element j goes into chain
// j mod kReduceChains, and the chains are combined as a tree. Two ways through memory keep to that, so that bits do not
// depend on strides, and a term of a sum passes at most n / 16 + 5 additions. Along: a vector holds neighbours of one
// reduction; what is not dense is gathered first. In lanes: each lane has a reduction of its own, for outputs whose inputs
// lie side by side and for short reductions; there up to kReduceWidth neighbours are taken together, so that memory is read
// in long pieces.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce.cpp"
#include "levels.h"

#include "reduce.h"

#include <algorithm>

#include "gather.h"
#include "parallel.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kReduceBlock = 1024;     // elements that are gathered at a time
constexpr std::int64_t kReduceWidth = 128;      // reductions that go side by side
constexpr std::int64_t kShortReductions = 16;   // elements up to which lanes are filled by reductions
constexpr std::int64_t kReduceGrain = 1 << 14;  // elements that are worth another thread

template <class E>
const ReducePasses<E>& passes(const ReduceOperator& op) {
  if constexpr (std::is_same_v<E, double>)
    return op.f64;
  else if constexpr (std::is_same_v<E, float>)
    return op.f32;
  else if constexpr (std::is_same_v<E, F16>)
    return op.f16;
  else
    return op.bf16;
}
template <class C>
const ReduceRest<C>& rest(const ReduceOperator& op) {
  if constexpr (std::is_same_v<C, double>)
    return op.of_f64;
  else
    return op.of_f32;
}

template <class T>
class Reduction {
 public:
  Reduction(const ReduceOperator& op, const View& in, const View& out, const Axes& axes, bool keepdim)
      : op_(op), in_(in), out_(out), space_(reduced_space(out, in, axes, keepdim)) {
    one_type_ = in.type() == out.type();
    dense_ = one_type_ && space_.rank == 1 && space_.stride[0] == 1;
    const bool beside = space_.kept.rank > 0 && one_type_ && space_.kept.stride[1][0] == 1;
    in_lanes_ = !dense_ && (beside || (space_.kept.rank > 0 && space_.count <= kShortReductions));
    identity_ = rest<C>(op).identity(op.op);
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
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);

  std::int64_t step(std::size_t operand) const { return space_.kept.step(operand); }
  static char* at(const View& view, std::int64_t offset) {
    return static_cast<char*>(view.data) + offset * (view.dtype.bits / 8);
  }
  const char* moved(const char* x, std::int64_t elements) const {
    return x + elements * (in_.dtype.bits / 8);
  }
  void combine(C* to, const C* from, std::int64_t n) const { rest<C>(op_).combine(op_.op, to, from, n); }

  // One pass over one reduction.
  C pass(std::size_t number, const char* x, C* buffer, C mean) const {
    if (dense_) return passes<T>(op_).row[number](op_.op, reinterpret_cast<const T*>(x), space_.count, mean);
    HWY_ALIGN C chains[kReduceChains];
    for (C& c : chains) c = identity_;
    const auto accumulate = passes<C>(op_).along[number];
    std::int64_t filled = 0;
    for (Walk walk(space_); !walk.done(); walk.next())
      for (std::int64_t i = 0; i < space_.size[0];) {
        const std::int64_t n = HWY_MIN(kReduceBlock - filled, space_.size[0] - i);
        gather(buffer + filled, moved(x, walk.offset() + i * space_.stride[0]), in_.type(), space_.stride[0],
               out_.type(), n);
        filled += n;
        i += n;
        if (filled < kReduceBlock) continue;
        accumulate(op_.op, chains, buffer, filled, mean);
        filled = 0;
      }
    accumulate(op_.op, chains, buffer, filled, mean);
    return rest<C>(op_).of_chains[number](op_.op, chains, space_.count);
  }

  void along(char* y, const char* x, C* buffer) const {
    C result = pass(0, x, buffer, C{0});
    if (op_.centres) result = pass(1, x, buffer, result / static_cast<C>(space_.count));
    if constexpr (std::is_same_v<T, C>)
      *reinterpret_cast<T*>(y) = result;
    else
      scatter(y, out_.type(), 1, &result, 1);
  }

  // One pass over `rows` reductions, at most kReduceWidth, to `totals`.
  void pass_in_lanes(std::size_t number, const char* x, std::int64_t rows, C* buffer, const C* means,
                     C* totals) const {
    const std::int64_t width = (rows + lanes - 1) / lanes * lanes;
    HWY_ALIGN C chains[kReduceChains * kReduceWidth];
    std::fill_n(chains, kReduceChains * width, identity_);
    std::int64_t first = 0;
    for (Walk walk(space_); !walk.done(); walk.next(), first += space_.size[0]) {
      if (one_type_ && step(1) == 1) {
        const T* const from = reinterpret_cast<const T*>(moved(x, walk.offset()));
        passes<T>(op_).in_lanes[number](op_.op, chains, width, first,
                                        {from, space_.stride[0], space_.size[0], rows}, means);
        continue;
      }
      for (std::int64_t i = 0; i < space_.size[0]; ++i) {
        gather(buffer, moved(x, walk.offset() + i * space_.stride[0]), in_.type(), step(1), out_.type(),
               rows);
        passes<C>(op_).in_lanes[number](op_.op, chains, width, first + i, {buffer, 0, 1, rows}, means);
      }
    }
    for (std::int64_t w = kReduceChains / 2; w > 0; w /= 2) combine(chains, chains + w * width, w * width);
    std::copy_n(chains, width, totals);
  }

  void side_by_side(char* y, const char* x, std::int64_t rows, C* buffer) const {
    HWY_ALIGN C totals[kReduceWidth];
    HWY_ALIGN C means[kReduceWidth];
    pass_in_lanes(0, x, rows, buffer, means, totals);
    if (op_.centres) {
      for (std::int64_t i = 0; i < kReduceWidth; ++i)
        means[i] = i < rows ? totals[i] / static_cast<C>(space_.count) : C{0};
      pass_in_lanes(1, x, rows, buffer, means, totals);
    }
    rest<C>(op_).results(op_.op, totals, rows, space_.count);
    scatter(y, out_.type(), step(0), totals, rows);
  }

  const ReduceOperator& op_;
  const View& in_;
  const View& out_;
  ReducedSpace space_;
  C identity_;
  bool one_type_, dense_, in_lanes_;
};

}  // namespace

void reduce(const ReduceOperator& op, const View& in, const View& out, const Axes& axes, bool keepdim) {
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, Reduction<T>(op, in, out, axes, keepdim).run());
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Element-wise operators: y[i] = op(x0[i], x1[i], ...) over any layouts, with broadcasting. Compiled for each level.
//
//   struct Relu {
//     static constexpr bool cheap = true;
//     template <class D, class V> HWY_INLINE V operator()(D d, V x) const { ... }
//   };
//   elementwise(Relu{}, out, self);
//
// op sees vectors of the compute type (element.h) and must treat each lane by itself. The inputs are
// converted to the output's dtype first. An input may share the output's memory if it has its shape, strides
// and dtype. Where the output is of integers, op has
//
//     std::int64_t integers(std::int64_t x) const;   // wraps as wrap.h does
//
// and nothing else, if it is for integers alone. An op that says truth = true gives masks, and of integers bool: its output is of
// bool, and inputs are converted to the dtype that they are promoted to.
//
// The idea: what is compiled for an operator are its loops over arrays, one for each type. How arrays lie in memory is the
// business of a driver that knows the loops by their addresses (elementwise.cpp) and that all operators share.
//
// Of an operator that says it is cheap, as conversions are no small part of its work, f16 and bf16 have loops of their own,
// which convert in registers. Others, the default, have f32's, to which the driver gives blocks that it converts: that
// takes one more way through the first-level cache, and spares the compiler half of the loops. Each element meets the same
// conversions and the same operations either way.
#include <utility>

#include "../geometry/space.h"
#include "lanes.h"

#if defined(ASSAY_CPU_ELEMENTWISE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ELEMENTWISE_H
#undef ASSAY_CPU_ELEMENTWISE_H
#else
#define ASSAY_CPU_ELEMENTWISE_H
#endif

#ifndef ASSAY_CPU_ELEMENTWISE_LOOPS
#define ASSAY_CPU_ELEMENTWISE_LOOPS
namespace assay::cpu {

// out[i] = op(in[0][i], ...), i in [0, n). If step[j] is 0, a vector of equal elements lies at in[j], and stands for all.
using ElementwiseLoop = void(const void* op, void* out, const void* const* in, const std::int64_t* step,
                             std::int64_t n);

// Those of an operator, by the type of all arrays; nullptr of f16 and bf16 where the driver converts them, and of i64
// where the operator has no integers. That of i64 takes arrays with steps of 1 only. Of truths, loops over floating-point numbers
// write bytes that are 0 or 1, and that of i64 such integers.
struct ElementwiseLoops {
  ElementwiseLoop *f64, *f32, *f16, *bf16, *i64;
  bool truths;
};

}  // namespace assay::cpu

// The entries of an operator whose functor needs no more than its tensors, one or two of them, with what its contract says
// besides: ASSAY_CPU_UNARY(ops::exp, Exp, ASSAY_CPU_EXP). The functor stands in namespace HWY_NAMESPACE.
#define ASSAY_CPU_UNARY(op, functor, ...) \
  ASSAY_CPU_FUNCTOR(op, unary, functor, ASSAY_CPU_IN_PLACE __VA_OPT__("\n") __VA_ARGS__)
#define ASSAY_CPU_BINARY(op, functor, ...) \
  ASSAY_CPU_FUNCTOR(op, binary, functor, ASSAY_CPU_IN_PLACE __VA_OPT__("\n") __VA_ARGS__)
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// views[0] is the output, the others are the inputs.
void elementwise(const ElementwiseLoops& loops, const void* op, const View* const* views, std::size_t inputs);

template <class C>
inline constexpr std::int64_t kLanes = HWY_MAX_BYTES / sizeof(C);

template <class Op>
concept Cheap = Op::cheap;

template <class Op>
concept Truth = Op::truth;

template <class Op>
concept OfNumbers = requires {
  &Op::template operator()<hn::ScalableTag<float>, hn::Vec<hn::ScalableTag<float>>>;
};

template <class T, class Op, std::size_t... k>
HWY_NOINLINE void process_truths(const void* given, void* to, const void* const* in,
                                 const std::int64_t* steps, std::int64_t n) {
  using C = Compute<T>;
  const hn::ScalableTag<C> d;
  const hn::RebindToUnsigned<hn::ScalableTag<C>> du;
  const hn::Rebind<std::uint8_t, hn::ScalableTag<C>> d8;
  const Op op = *static_cast<const Op*>(given);
  std::uint8_t* const out = static_cast<std::uint8_t*>(to);
  const T* const from[] = {static_cast<const T*>(in[k])...};
  const std::int64_t step[] = {steps[k]...};
  const auto of = [&](hn::Mask<hn::ScalableTag<C>> mask) HWY_ATTR {
    return hn::TruncateTo(d8, hn::IfThenElseZero(hn::RebindMask(du, mask), hn::Set(du, 1)));
  };
  std::int64_t i = 0;
  for (; i + kLanes<C> <= n; i += kLanes<C>)
    hn::StoreU(of(op(d, load(d, from[k] + i * step[k])...)), d8, out + i);
  if (i == n) return;
  HWY_ALIGN std::uint8_t last[HWY_MAX_BYTES];
  hn::StoreU(of(op(d, load_n(d, from[k] + i * step[k], n - i)...)), d8, last);
  for (std::int64_t j = i; j < n; ++j) out[j] = last[j - i];
}

template <class T, class Op, std::size_t... k>
HWY_NOINLINE void process(const void* given, void* to, const void* const* in, const std::int64_t* steps,
                          std::int64_t n) {
  using C = Compute<T>;
  const hn::ScalableTag<C> d;
  // Copies, which a store to `out` cannot change: they stay in registers.
  const Op op = *static_cast<const Op*>(given);
  T* const out = static_cast<T*>(to);
  const T* from[] = {static_cast<const T*>(in[k])...};
  const std::int64_t step[] = {steps[k]...};
  std::int64_t i = 0;
  if constexpr (Cheap<Op>) {
    for (; i + kLanes<C> <= n; i += kLanes<C>) store(op(d, load(d, from[k] + i * step[k])...), d, out + i);
    if (i < n) store_n(op(d, load_n(d, from[k] + i * step[k], n - i)...), d, out + i, n - i);
  } else {
    // The last elements are made a vector, for which the same code is run again: a copy of op would be much code.
    HWY_ALIGN C last[sizeof...(k) + 1][kLanes<C>];
    const std::int64_t whole = n / kLanes<C> * kLanes<C>;
    C* to_vectors = out;
    for (std::int64_t end = whole;; end = kLanes<C>) {
      for (i = 0; i < end; i += kLanes<C>)
        hn::StoreU(op(d, hn::LoadU(d, from[k] + i * step[k])...), d, to_vectors + i);
      if (to_vectors != out || whole == n) break;
      (hn::Store(load_n(d, from[k] + whole * step[k], n - whole), d, last[k + 1]), ...);
      ((from[k] = last[k + 1]), ...);
      to_vectors = last[0];
    }
    if (whole < n) store_n(hn::Load(d, last[0]), d, out + whole, n - whole);
  }
}

template <class Op, std::size_t... k>
HWY_NOINLINE void process_integers(const void* given, void* out, const void* const* in, const std::int64_t*,
                                   std::int64_t n) {
  const Op op = *static_cast<const Op*>(given);
  std::int64_t* const to = static_cast<std::int64_t*>(out);
  const std::int64_t* const from[] = {static_cast<const std::int64_t*>(in[k])...};
  for (std::int64_t i = 0; i < n; ++i) to[i] = op.integers(from[k][i]...);
}

template <class Op, std::size_t... k>
constexpr ElementwiseLoops loops_of(std::index_sequence<k...>) {
  ElementwiseLoops loops{};
  if constexpr (Truth<Op>) {
    static_assert(Cheap<Op>);
    loops = {process_truths<double, Op, k...>,
             process_truths<float, Op, k...>,
             process_truths<F16, Op, k...>,
             process_truths<BF16, Op, k...>,
             nullptr,
             true};
  } else if constexpr (OfNumbers<Op>) {
    loops.f64 = process<double, Op, k...>;
    loops.f32 = process<float, Op, k...>;
    if constexpr (Cheap<Op>) {
      loops.f16 = process<F16, Op, k...>;
      loops.bf16 = process<BF16, Op, k...>;
    }
  }
  if constexpr (requires(const Op& op) { op.integers((static_cast<void>(k), std::int64_t{})...); })
    loops.i64 = process_integers<Op, k...>;
  return loops;
}

template <class Op, class... Inputs>
void elementwise(const Op& op, const View& out, const Inputs&... inputs) {
  static_assert(sizeof...(inputs) < kMaxOperands);
  const View* const views[] = {&out, &inputs...};
  elementwise(loops_of<Op>(std::index_sequence_for<Inputs...>()), &op, views, sizeof...(inputs));
}

template <class Op>
void unary(const View& self, View& out) {
  elementwise(Op{}, out, self);
}
template <class Op>
void binary(const View& self, const View& other, View& out) {
  elementwise(Op{}, out, self, other);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// The driver of reductions over any dimensions of any layout: sums, maxima, moments, and sums over what several tensors hold.
//
//   template <class T> struct Sum {
//     using State = Compute<T>;
//     template <class S> S identity() const;                        // S is State
//     State start(std::int64_t i) const;                            // if there is one: of output i, in place of that
//     void add(State& s, std::int64_t j, Compute<T> x, ...) const;  // element j of each input
//     State combine(State a, State b) const;
//     void store(std::int64_t i, std::int64_t offset, State s, std::int64_t n) const;  // output i, of n elements
//   };
//   reduce<T>(Sum<T>{...}, plan, self);
//
// The idea: outputs are one index space and the elements that become one of them another (plan). Where neighbours in
// memory become one output, a group of threads takes an output, part of a warp, or a block, and goes along (rows). Where
// they become neighbouring outputs, each thread takes its own outputs and goes down, and the threads above each other in a
// block share the way (columns). Where that makes too few blocks to keep a GPU busy, several blocks share an
// output: what they find goes to scratch memory, and a second launch joins it in a fixed order.
//
// Accesses are of 16 bytes where all strides allow it. Whether addresses do, too, decides how elements are loaded, but not who
// adds which, so that bits do not depend on it.
#pragma once

#include <algorithm>

#include "reduce_kernels.h"
#include "reduce_plan.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr std::int64_t kReduceShare = 1 << 14;   // elements that are worth another block
inline constexpr std::int64_t kReduceBlocks = 132 * 4;  // that keep a GPU busy
inline constexpr std::int64_t kReduceParts = 256;       // at most, of one output

// How many blocks share an output: for `units` blocks that there are anyway.
inline std::int64_t reduce_parts(std::int64_t units, std::int64_t elements, std::int64_t shared_by) {
  const std::int64_t wanted = std::min(kReduceParts, kReduceBlocks / std::max<std::int64_t>(units, 1));
  return std::max<std::int64_t>(std::min(wanted, elements * shared_by / kReduceShare), 1);
}

template <class T, class Reducer, std::size_t... k>
void reduce_as(const Reducer& reducer, const ReducePlan& plan, const View* const* inputs,
               std::index_sequence<k...>) {
  constexpr std::size_t count = sizeof...(k);
  constexpr std::int64_t width = Vector<T>::size;
  using State = typename Reducer::State;
  const Sources<count> in{{inputs[k]->data...}, {inputs[k]->type()...}};
  const Space<count> reduced(plan.reduced);
  const std::int64_t n = reduced.count, outputs = plan.kept.count;
  if (outputs == 0) return;

  const bool typed = ((inputs[k]->type() == dtype_that_is<T>)&&...);
  const bool aligned = (... && (reinterpret_cast<std::uintptr_t>(inputs[k]->data) % 16 == 0));
  const bool along = reduced.rank == 0 || ((reduced.stride[k][0] == 1) && ...);
  const bool columns = !along && plan.kept.rank > 0 && ((plan.kept.stride[k + 1][0] == 1) && ...);
  const bool whole = typed && steps_in_vectors(plan.reduced, 0, count, width, !columns) &&
                     steps_in_vectors(plan.kept, 1, count + 1, width, columns);
  const Access access = !whole ? Access::strided : aligned ? Access::vectors : Access::pieces;
  const std::int64_t wide = whole ? width : 1, out_step = plan.kept.rank == 0 ? 0 : plan.kept.stride[0][0];
  const Space<count + 1> kept(plan.kept, columns && whole ? static_cast<int>(width) : 1);

  const auto scratch_for = [&](std::int64_t parts) {
    return Scratch<State>(parts == 1 ? 0 : outputs * parts);
  };
  const auto share_of = [&](std::int64_t parts) {
    return ((n + parts - 1) / parts + width - 1) / width * width;
  };
  const auto join = [&](const Scratch<State>& partial, std::int64_t parts) {
    if (parts == 1) return;
    const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(power_of_two(parts), kWarpSize));
    const unsigned rows = kReduceThreads / lanes;
    launch<reduce_join_kernel<T, Reducer, count + 1>>(blocks_for(outputs, rows), dim3(lanes, rows), 0,
                                                      reducer, partial.data(), Space<count + 1>(plan.kept),
                                                      parts, n);
  };

  if (columns) {
    const std::int64_t across = std::min<std::int64_t>(power_of_two(kept.count), kWarpSize);
    const std::int64_t down =
        std::clamp(power_of_two((n + 7) / 8), kWarpSize / across, std::int64_t{kReduceThreads} / across);
    const std::int64_t blocks = (kept.count + across - 1) / across;
    const std::int64_t parts = reduce_parts(blocks, n, across * wide);
    const Scratch<State> partial = scratch_for(parts);
    launch<reduce_columns_kernel<T, Reducer, k...>>(
        dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(parts)),
        dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)), 0, reducer, in, kept, reduced,
        access, out_step, share_of(parts), parts == 1 ? nullptr : partial.data());
    return join(partial, parts);
  }
  // A warp for up to eight vectors of each lane, then a block.
  const std::int64_t lanes = n > kWarpSize * width * 8
                                 ? kReduceThreads
                                 : std::min<std::int64_t>(power_of_two((n + wide - 1) / wide), kWarpSize);
  const std::int64_t rows = std::max<std::int64_t>(kReduceThreads / 2 / lanes, 1);
  const dim3 blocks = blocks_for(outputs, rows);
  const std::int64_t parts = reduce_parts(blocks.x, n, 1);
  const Scratch<State> partial = scratch_for(parts);
  launch<reduce_rows_kernel<T, Reducer, k...>>(
      dim3(blocks.x, static_cast<unsigned>(parts)),
      dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(rows)), 0, reducer, in, kept, reduced, access,
      share_of(parts), parts == 1 ? nullptr : partial.data());
  join(partial, parts);
}

template <class T, class Reducer, class... In>
void reduce(const Reducer& reducer, const ReducePlan& plan, const In&... in) {
  const View* const inputs[] = {&in...};
  reduce_as<T>(reducer, plan, inputs, std::index_sequence_for<In...>{});
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda

// The driver of element-wise operators: y[i] = op(x0[i], x1[i], ...) over any layouts, with broadcasting.
//
//   struct Relu {
//     template <class C> __device__ C operator()(C x) const { ... }        // C is float or double
//     __device__ std::int64_t integers(std::int64_t x) const { ... }       // where the output is of integers
//   };
//   elementwise(Relu{}, out, self);
//
// An op that says truth = true gives bool, and so is its output; its inputs are converted to the dtype that they are promoted to.
//
// Inputs are converted to the output's dtype first; elementwise_of<Out, In...>() is for operators whose
// tensors have other dtypes by definition. An input may share the output's memory if it has its shape,
// strides and dtype: an element is read before it is written, by the same thread.
//
// The idea: dimensions are put into the order of the output's memory and joined (cpu/space.h). Where what
// remains of the innermost one is whole vectors of 16 bytes in the tensor of the widest elements, and each
// input either lies the same way or repeats one element along it, a thread takes a vector: all accesses of a
// warp are neighbours. A tensor that is all one row may end with part of a vector. Else, where dtypes are
// mixed, and of integers, a thread takes an element, in the order of the output's memory, by code that looks
// at the dtypes as it runs: one kernel for all of them. Each element meets the same operations either way.
#pragma once

#include <algorithm>
#include <utility>

#include "call.h"
#include "element.h"
#include "space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kElementwiseThreads = 256;

template <int inputs>
struct Inputs {
  const void* data[inputs];
};

template <class Op>
concept Truth = Op::truth;

template <class Op, class... C>
__device__ __forceinline__ bool is_true(const Op& op, C... x) {
  if constexpr ((is_integer<C> && ...))
    return op.integers(x...);
  else
    return op(x...);
}

template <class T, class Op, class... C>
__device__ __forceinline__ T applied(const Op& op, C... x) {
  if constexpr (Truth<Op>)
    return static_cast<T>(is_true(op, x...) ? 1 : 0);
  else if constexpr (is_integer<T>)
    return narrowed<T>(op.integers(x...));
  else
    return narrowed<T>(op(x...));
}

// ---- Vectors -----------------------------------------------------------------------------------------------------

// What a thread takes at once: n elements, of which the last thread may take fewer.
template <int n>
struct Chunk {
  bool whole;
  int count;
};

// A vector, or one element in all of its places. Places beyond `count` hold the first element.
template <class T, int n>
__device__ __forceinline__ Vector<T, n> load_chunk(const void* data, std::int64_t offset, bool repeats,
                                                   Chunk<n> chunk) {
  const T* from = static_cast<const T*>(data) + offset;
  if (chunk.whole && !repeats) return load_vector<T, n>(from);
  const T first = *from;
  Vector<T, n> v;
  ASSAY_UNROLL
  for (int j = 0; j < n; ++j) {
    v.element[j] = first;
    if (!repeats && j < chunk.count) v.element[j] = from[j];
  }
  return v;
}

template <class Out, int n, class Op, class... In>
__device__ __forceinline__ Vector<Out, n> applied_to_each(const Op& op, const Vector<In, n>&... x) {
  Vector<Out, n> y;
  ASSAY_UNROLL
  for (int j = 0; j < n; ++j) y.element[j] = applied<Out>(op, widened(x.element[j])...);
  return y;
}

template <class Op, int n, class Out, class... In, std::size_t... k>
__device__ __forceinline__ void elementwise_chunk(const Op& op, Out* out, const Inputs<sizeof...(In)>& in,
                                                  const Space<sizeof...(In) + 1>& space,
                                                  const std::int64_t (&offset)[sizeof...(In) + 1],
                                                  Chunk<n> chunk, std::index_sequence<k...>) {
  const Vector<Out, n> y = applied_to_each<Out, n>(
      op, load_chunk<In, n>(in.data[k], offset[k + 1], space.stride[k + 1][0] == 0, chunk)...);
  out += offset[0];
  if (chunk.whole) return store_vector(out, y);
  ASSAY_UNROLL
  for (int j = 0; j < n; ++j)
    if (j < chunk.count) out[j] = y.element[j];
}

// `space` counts vectors in dimension 0; the very last one has `last` elements.
// Budget: 72 registers, 1.02 sectors.
template <class Op, int n, class Out, class... In>
__global__ void elementwise_vector_kernel(Op op, Out* out, Inputs<sizeof...(In)> in,
                                          Space<sizeof...(In) + 1> space, std::int32_t last) {
  for (std::int64_t i = global_thread(); i < space.count; i += global_threads()) {
    std::int64_t offset[sizeof...(In) + 1];
    space.locate(i, offset);
    const bool whole = last == n || i + 1 < space.count;
    elementwise_chunk<Op, n, Out, In...>(op, out, in, space, offset, Chunk<n>{whole, last},
                                         std::index_sequence_for<In...>{});
  }
}

// Whether rows are whole vectors of n elements in every tensor, or the only row is but for its end.
inline bool in_vectors(const cpu::Space& space, const View* const* views, int n) {
  if (space.rank == 0 || (space.rank > 1 && space.size[0] % n != 0)) return false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(space.operands); ++k) {
    const std::int64_t step = space.stride[k][0];
    if (step == 0 && k != 0) continue;
    const auto width = static_cast<std::uintptr_t>(n * views[k]->dtype.bits / 8);
    if (step != 1 || reinterpret_cast<std::uintptr_t>(views[k]->data) % width != 0) return false;
    for (std::size_t d = 1; d < static_cast<std::size_t>(space.rank); ++d)
      if (space.stride[k][d] % n != 0) return false;
  }
  return true;
}

// ---- Elements ----------------------------------------------------------------------------------------------------

template <class Op, class Out, class... In, std::size_t... k>
__device__ __forceinline__ Out element_at(const Op& op, const Inputs<sizeof...(In)>& in,
                                          const std::int64_t (&offset)[sizeof...(In) + 1],
                                          std::index_sequence<k...>) {
  return applied<Out>(op, widened(static_cast<const In*>(in.data[k])[offset[k + 1]])...);
}

// Budget: 40 registers, 1.43 sectors.
template <class Op, class Out, class... In>
__global__ void elementwise_kernel(Op op, Out* out, Inputs<sizeof...(In)> in,
                                   Space<sizeof...(In) + 1> space) {
  for (std::int64_t i = global_thread(); i < space.count; i += global_threads()) {
    std::int64_t offset[sizeof...(In) + 1];
    space.locate(i, offset);
    out[offset[0]] = element_at<Op, Out, In...>(op, in, offset, std::index_sequence_for<In...>{});
  }
}

template <int inputs>
struct Types {
  Dtype out, in[inputs];
  Dtype computed;  // what inputs are converted to
};

// Of any dtypes that are computed in C once they have that one.
// Budget: 40 registers, 1.03 sectors.
template <class Op, class C, std::size_t... k>
__global__ void elementwise_mixed_kernel(Op op, void* out, Inputs<sizeof...(k)> in, Types<sizeof...(k)> types,
                                         Space<sizeof...(k) + 1> space) {
  for (std::int64_t i = global_thread(); i < space.count; i += global_threads()) {
    std::int64_t offset[sizeof...(k) + 1];
    space.locate(i, offset);
    if constexpr (Truth<Op>)
      static_cast<std::uint8_t*>(out)[offset[0]] = applied<std::uint8_t>(
          op, load_converted<C>(in.data[k], types.in[k], types.computed, offset[k + 1])...);
    else
      store_as<C>(
          out, types.out, offset[0],
          applied<C>(op, load_converted<C>(in.data[k], types.in[k], types.computed, offset[k + 1])...));
  }
}

// ---- Launches ----------------------------------------------------------------------------------------------------

template <class>
using ViewOf = const View&;

// By vectors, of tensors with elements of these types, whose space that is; false, and nothing is done, where there are none.
template <class Out, class... In, class Op>
bool elementwise_vectors(const Op& op, const cpu::Space& given, View& out, ViewOf<In>... in) {
  constexpr int n = 16 / static_cast<int>(std::max({sizeof(Out), sizeof(In)...}));
  const View* const views[] = {&out, &in...};
  if (!in_vectors(given, views, n)) return false;
  const Space<sizeof...(In) + 1> space(given, n);
  launch<elementwise_vector_kernel<Op, n, Out, In...>>(
      blocks_for(space.count, kElementwiseThreads), kElementwiseThreads, 0, op, out.as<Out>(),
      Inputs<sizeof...(In)>{{in.data...}}, space, static_cast<std::int32_t>((given.count - 1) % n + 1));
  return true;
}

// out = op(in...), of tensors with elements of these types, which the operator defines: nothing is converted.
template <class Out, class... In, class Op>
void elementwise_of(const Op& op, View& out, ViewOf<In>... in) {
  constexpr int operands = sizeof...(In) + 1;
  const View* const views[] = {&out, &in...};
  const cpu::Space given = cpu::make_space(views, operands);
  if (given.count == 0 || elementwise_vectors<Out, In...>(op, given, out, in...)) return;
  launch<elementwise_kernel<Op, Out, In...>>(blocks_for(given.count, kElementwiseThreads),
                                             kElementwiseThreads, 0, op, out.as<Out>(),
                                             Inputs<sizeof...(In)>{{in.data...}}, Space<operands>(given));
}

template <class C, class Op, std::size_t... k>
void elementwise_mixed(const Op& op, const cpu::Space& given, const View* const* views, Dtype computed,
                       std::index_sequence<k...>) {
  launch<elementwise_mixed_kernel<Op, C, k...>>(
      blocks_for(given.count, kElementwiseThreads), kElementwiseThreads, 0, op, views[0]->data,
      Inputs<sizeof...(k)>{{views[k + 1]->data...}},
      Types<sizeof...(k)>{views[0]->type(), {views[k + 1]->type()...}, computed},
      Space<sizeof...(k) + 1>(given));
}

template <class Op>
inline constexpr bool of_integers = requires {
  &Op::integers;
};

// An op of integers alone says so, for nvcc finds no member template by its address: only_integers = true.
template <class Op>
concept OnlyIntegers = Op::only_integers;
template <class Op>
concept OfNumbers = !OnlyIntegers<Op>;

template <class, class T>
using Same = T;

// out = op(in...), inputs converted to the output's dtype. Throws Refused for an output that op is not for.
template <class Op, class... In>
void elementwise(const Op& op, View& out, const In&... in) {
  constexpr std::index_sequence_for<In...> indices;
  const View* const views[] = {&out, &in...};
  const Dtype type = Truth<Op> ? promoted(views + 1, sizeof...(In)) : out.type();
  if (!of_integers<Op> && !is_float(type)) throw Refused("only f64, f32, f16 and bf16 are supported");
  const cpu::Space given = cpu::make_space(views, sizeof...(In) + 1);
  if (given.count == 0) return;
  if constexpr (OfNumbers<Op>) {
    if (is_float(type) && ((in.type() == type) && ...)) {
      bool done = false;
      with_floating_point(type, [&](auto element) {
        using T = decltype(element);
        using Out = std::conditional_t<Truth<Op>, std::uint8_t, T>;
        done = elementwise_vectors<Out, Same<In, T>...>(op, given, out, in...);
      });
      if (done) return;
    }
    if (type == Dtype::f64) return elementwise_mixed<double>(op, given, views, type, indices);
    if (is_float(type)) return elementwise_mixed<float>(op, given, views, type, indices);
  } else if (is_float(type)) {
    throw Refused("only integers are supported");
  }
  if constexpr (of_integers<Op>) elementwise_mixed<std::int64_t>(op, given, views, type, indices);
}

// Kernels of operators whose functor needs no more than its tensors: ASSAY_CUDA(ops::exp, unary<Exp>, "...contract...").
template <class Op>
void unary(const View& self, View& out) {
  elementwise(Op{}, out, self);
}
template <class Op>
void binary(const View& self, const View& other, View& out) {
  elementwise(Op{}, out, self, other);
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda

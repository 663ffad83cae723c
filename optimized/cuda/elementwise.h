// The driver of element-wise operators: y[i] = op(x0[i], x1[i], ...) over any layouts, with broadcasting.
//
//   struct Relu {
//     template <class C> __device__ C operator()(C x) const { ... }        // C is float or double
//     __device__ std::int64_t integers(std::int64_t x) const { ... }       // where the output is of integers
//   };
//   elementwise(Relu{}, out, self);
//
// Inputs are converted to the output's dtype first. An input may share the output's memory if it has its shape, strides
// and dtype: an element is read before it is written, by the same thread.
//
// The idea: dimensions are put into the order of the output's memory and joined (cpu/space.h). Where what remains of the
// innermost one is whole vectors of 16 bytes in the output, and each input has the output's dtype and either lies the
// same way or repeats one element along it, a thread takes a vector: all accesses of a warp are neighbours. Else a thread
// takes an element, in the order of the output's memory. Each element meets the same operations either way.
#pragma once

#include <utility>

#include "call.h"
#include "element.h"
#include "space.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <int inputs>
struct Inputs {
  const void* data[inputs];
  Dtype type[inputs];
};

template <class T, class Op, class... C>
__device__ __forceinline__ T applied(const Op& op, C... x) {
  if constexpr (is_integer<T>)
    return narrowed<T>(op.integers(x...));
  else
    return narrowed<T>(op(x...));
}

template <class Op, class T, std::size_t... k>
__global__ void elementwise_kernel(Op op, T* out, Inputs<sizeof...(k)> in, Space<sizeof...(k) + 1> space) {
  for (std::int64_t i = global_thread(); i < space.count; i += global_threads()) {
    std::int64_t offset[sizeof...(k) + 1];
    space.locate(i, offset);
    out[offset[0]] = applied<T>(op, load_as<T>(in.data[k], in.type[k], offset[k + 1])...);
  }
}

// A vector of 16 bytes, or one element in all of its places.
template <class T>
__device__ __forceinline__ Vector<T> load_row(const void* data, std::int64_t offset, bool repeats) {
  const T* from = static_cast<const T*>(data) + offset;
  if (!repeats) return load_vector(from);
  const T x = *from;
  Vector<T> v;
  for (int j = 0; j < Vector<T>::size; ++j) v.element[j] = x;
  return v;
}

// `space` counts vectors in dimension 0.
template <class Op, class T, std::size_t... k>
__global__ void elementwise_vector_kernel(Op op, T* out, Inputs<sizeof...(k)> in,
                                          Space<sizeof...(k) + 1> space) {
  for (std::int64_t i = global_thread(); i < space.count; i += global_threads()) {
    std::int64_t offset[sizeof...(k) + 1];
    space.locate(i, offset);
    const Vector<T> x[] = {load_row<T>(in.data[k], offset[k + 1], space.stride[k + 1][0] == 0)...};
    Vector<T> y;
    ASSAY_UNROLL
    for (int j = 0; j < Vector<T>::size; ++j) y.element[j] = applied<T>(op, widened(x[k].element[j])...);
    store_vector(out + offset[0], y);
  }
}

// Whether rows are whole vectors of T, on multiples of 16 bytes, in every tensor.
template <int operands>
bool in_vectors(const cpu::Space& space, const View* const* views, int width) {
  if (space.rank == 0 || space.size[0] % width != 0) return false;
  for (std::size_t j = 0; j < operands; ++j) {
    if (views[j]->dtype.bits != views[0]->dtype.bits || views[j]->dtype.code != views[0]->dtype.code) return false;
    const std::int64_t step = space.stride[j][0];
    if (step == 0 && j != 0) continue;
    if (step != 1 || reinterpret_cast<std::uintptr_t>(views[j]->data) % 16 != 0) return false;
    for (std::size_t d = 1; d < static_cast<std::size_t>(space.rank); ++d)
      if (space.stride[j][d] % width != 0) return false;
  }
  return true;
}

inline constexpr int kElementwiseThreads = 256;

template <class T, class Op, std::size_t... k>
void elementwise_as(const Op& op, const cpu::Space& given, const View* const* views,
                    std::index_sequence<k...>) {
  constexpr int operands = sizeof...(k) + 1, width = Vector<T>::size;
  const Inputs<sizeof...(k)> in{{views[k + 1]->data...}, {views[k + 1]->type()...}};
  T* const out = views[0]->template as<T>();
  Space<operands> space(given);
  if (in_vectors<operands>(given, views, width)) {
    space.count /= width;
    space.size[0] /= width;
    for (auto& stride : space.stride) stride[0] *= width;
    return launch<elementwise_vector_kernel<Op, T, k...>>(blocks_for(space.count, kElementwiseThreads),
                                                          kElementwiseThreads, 0, op, out, in, space);
  }
  launch<elementwise_kernel<Op, T, k...>>(blocks_for(space.count, kElementwiseThreads), kElementwiseThreads, 0,
                                          op, out, in, space);
}

template <class Op>
inline constexpr bool of_integers = requires { &Op::integers; };

// out = op(in...). Throws Refused for dtypes that op is not for.
template <class Op, class... In>
void elementwise(const Op& op, View& out, const In&... in) {
  const View* const views[] = {&out, &in...};
  const cpu::Space space = cpu::make_space(views, sizeof...(In) + 1);
  if (space.count == 0) return;
  const auto go = [&](auto element) {
    elementwise_as<decltype(element)>(op, space, views, std::index_sequence_for<In...>{});
  };
  if constexpr (of_integers<Op>)
    with_element(out.type(), go);
  else
    with_floating_point(out.type(), go);
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda

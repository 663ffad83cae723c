// The mean of numbers and the sum of their squared distances from it, as something to reduce to: numbers join one by one
// (Welford 1962), and parts are merged (Chan, Golub and LeVeque 1983).
#pragma once

#include "reduce.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <class C>
struct Moments {
  C mean, squares;
  std::int32_t low, high;  // of the count, in 32 bits each: the struct has no gaps

  __device__ std::int64_t count() const {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(low)) | static_cast<std::int64_t>(high) << 32;
  }
  __device__ static Moments of(C mean, C squares, std::int64_t count) {
    return {mean, squares, static_cast<std::int32_t>(count), static_cast<std::int32_t>(count >> 32)};
  }
  __device__ Moments shuffled(int with) const {
    return {__shfl_xor_sync(kAllLanes, mean, with), __shfl_xor_sync(kAllLanes, squares, with),
            __shfl_xor_sync(kAllLanes, low, with), __shfl_xor_sync(kAllLanes, high, with)};
  }
};

template <class T>
struct MomentsReducer {
  using C = Compute<T>;
  using State = Moments<C>;

  template <class S>
  __device__ S identity() const {
    return State::of(0, 0, 0);
  }
  __device__ void add(State& s, std::int64_t, C x) const {
    const std::int64_t n = s.count() + 1;
    const C distance = x - s.mean, mean = s.mean + distance / static_cast<C>(n);
    s = State::of(mean, s.squares + distance * (x - mean), n);
  }
  __device__ State combine(const State& a, const State& b) const {
    const std::int64_t n_a = a.count(), n_b = b.count(), n = n_a + n_b;
    if (n_a == 0) return b;
    if (n_b == 0) return a;
    const C distance = b.mean - a.mean, part = static_cast<C>(n_b) / static_cast<C>(n);
    return State::of(a.mean + distance * part,
                     a.squares + b.squares + distance * distance * part * static_cast<C>(n_a), n);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda

// The largest number over dimensions, and where it is.
#include "ops/amax.h"

#include "reduce.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// NaN wins, and -0 < 0, so that any order gives the same bits.
template <class T>
struct Amax {
  using State = Compute<T>;
  void* out;
  Dtype type;

  template <class S>
  __device__ S identity() const {
    if constexpr (is_integer<T>)
      return INT64_MIN;
    else
      return -static_cast<S>(INFINITY);
  }
  __device__ State combine(State a, State b) const {
    if constexpr (!is_integer<T>) {
      if (a != a) return a;
      if (a == b) return a == State(0) ? a + b : a;  // 0 unless both are -0
      return a > b ? a : b;                          // b if it is NaN
    } else {
      return a > b ? a : b;
    }
  }
  __device__ void add(State& s, std::int64_t, State x) const { s = combine(s, x); }
  __device__ void store(std::int64_t, std::int64_t offset, State s, std::int64_t) const {
    store_as(out, type, offset, s);
  }
};

// A number, and its place in row-major order. -0 and 0 are equals, of which the first counts, and so are NaN.
template <class C>
struct Placed {
  C value;
  std::int64_t place;
  __device__ Placed shuffled(int with) const {
    return {__shfl_xor_sync(kAllLanes, value, with), __shfl_xor_sync(kAllLanes, place, with)};
  }
};

template <class T>
struct Argmax {
  using State = Placed<Compute<T>>;
  std::int64_t* out;

  template <class S>
  __device__ S identity() const {
    return {Amax<T>{}.template identity<Compute<T>>(), INT64_MAX};
  }
  __device__ static bool before(const State& a, const State& b) {
    if (a.value != a.value) return b.value == b.value || a.place < b.place;
    return a.value > b.value || (a.value == b.value && a.place < b.place);
  }
  __device__ State combine(const State& a, const State& b) const { return before(a, b) ? a : b; }
  __device__ void add(State& s, std::int64_t j, Compute<T> x) const { s = combine(s, {x, j}); }
  __device__ void store(std::int64_t, std::int64_t offset, const State& s, std::int64_t) const {
    out[offset] = s.place;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void amax(const View& self, std::span<const std::int64_t> dim, bool keepdim, View& out) {
  const View* const in[] = {&self};
  const ReducePlan plan(out, in, 1, Axes(dim, self.rank()), keepdim);
  with_reduced(out.type(), [&](auto element) {
    using T = decltype(element);
    reduce<T>(Amax<T>{out.data, out.type()}, plan, self);
  });
}

void argmax(const View& self, std::optional<std::int64_t> dim, bool keepdim, View& out) {
  const View* const in[] = {&self};
  const ReducePlan plan(out, in, 1, Axes(dim, self.rank()), keepdim, true);
  with_reduced(self.type(), [&](auto element) {
    using T = decltype(element);
    reduce<T>(Argmax<T>{out.as<std::int64_t>()}, plan, self);
  });
}

constexpr assay_kernel amax_kernels[] = {ASSAY_CUDA(ops::amax, amax, nullptr),
                                         ASSAY_CUDA(ops::argmax, argmax, nullptr)};
const Enrolled amax_enrolled{amax_kernels};

}  // namespace
}  // namespace assay::cuda

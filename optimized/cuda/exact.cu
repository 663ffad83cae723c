// Exact functions of one number, over any layout.
#include "ops/exact.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Abs {
  template <class C>
  __device__ C operator()(C x) const {
    return abs_of(x);
  }
  __device__ std::int64_t integers(std::int64_t x) const { return x < 0 ? wrapping_multiply(-1, x) : x; }
};

struct Neg {
  template <class C>
  __device__ C operator()(C x) const {
    return -x;
  }
  __device__ std::int64_t integers(std::int64_t x) const { return wrapping_multiply(-1, x); }
};

struct Sign {
  template <class C>
  __device__ C operator()(C x) const {
    return static_cast<C>((x > C(0)) - (x < C(0)));
  }
  __device__ std::int64_t integers(std::int64_t x) const { return (x > 0) - (x < 0); }
};

struct Floor {
  template <class C>
  __device__ C operator()(C x) const {
    return floor_of(x);
  }
  __device__ std::int64_t integers(std::int64_t x) const { return x; }
};

struct Ceil {
  template <class C>
  __device__ C operator()(C x) const {
    return ceil_of(x);
  }
  __device__ std::int64_t integers(std::int64_t x) const { return x; }
};

struct Trunc {
  template <class C>
  __device__ C operator()(C x) const {
    return trunc_of(x);
  }
  __device__ std::int64_t integers(std::int64_t x) const { return x; }
};

struct Round {
  template <class C>
  __device__ C operator()(C x) const {
    return rint_of(x);
  }
  __device__ std::int64_t integers(std::int64_t x) const { return x; }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

constexpr assay_kernel exact_kernels[] = {ASSAY_CUDA(ops::abs, unary<Abs>, ASSAY_CUDA_IN_PLACE),
                                          ASSAY_CUDA(ops::neg, unary<Neg>, ASSAY_CUDA_IN_PLACE),
                                          ASSAY_CUDA(ops::sign, unary<Sign>, ASSAY_CUDA_IN_PLACE),
                                          ASSAY_CUDA(ops::floor, unary<Floor>, ASSAY_CUDA_IN_PLACE),
                                          ASSAY_CUDA(ops::ceil, unary<Ceil>, ASSAY_CUDA_IN_PLACE),
                                          ASSAY_CUDA(ops::trunc, unary<Trunc>, ASSAY_CUDA_IN_PLACE),
                                          ASSAY_CUDA(ops::round, unary<Round>, ASSAY_CUDA_IN_PLACE)};
const Enrolled exact_enrolled{exact_kernels};

}  // namespace
}  // namespace assay::cuda

// Functions of one number: CUDA's own, over any layout. The reciprocal root is a root and a division, each rounded once, and
// not rsqrt(), which errs by more.
#include "ops/functions.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Exp {
  template <class C>
  __device__ C operator()(C x) const {
    return exp_of(x);
  }
};

struct Log {
  template <class C>
  __device__ C operator()(C x) const {
    return log_of(x);
  }
};

struct Sqrt {
  template <class C>
  __device__ C operator()(C x) const {
    return sqrt_of(x);
  }
};

struct Rsqrt {
  template <class C>
  __device__ C operator()(C x) const {
    return C(1) / sqrt_of(x);
  }
};

struct Erf {
  template <class C>
  __device__ C operator()(C x) const {
    return erf_of(x);
  }
};

struct Acos {
  template <class C>
  __device__ C operator()(C x) const {
    return acos_of(x);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

constexpr assay_kernel functions_kernels[] = {
    ASSAY_CUDA(ops::exp, unary<Exp>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP),
    ASSAY_CUDA(ops::log, unary<Log>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_LOG),
    ASSAY_CUDA(ops::sqrt, unary<Sqrt>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::rsqrt, unary<Rsqrt>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::erf, unary<Erf>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ERF),
    ASSAY_CUDA(ops::acos, unary<Acos>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ACOS)};
const Enrolled functions_enrolled{functions_kernels};

}  // namespace
}  // namespace assay::cuda

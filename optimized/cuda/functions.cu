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

struct Asin {
  template <class C>
  __device__ C operator()(C x) const {
    return asin_of(x);
  }
};

struct Atan {
  template <class C>
  __device__ C operator()(C x) const {
    return atan_of(x);
  }
};

struct Exp2 {
  template <class C>
  __device__ C operator()(C x) const {
    return exp2_of(x);
  }
};

struct Expm1 {
  template <class C>
  __device__ C operator()(C x) const {
    return expm1_of(x);
  }
};

struct Log2 {
  template <class C>
  __device__ C operator()(C x) const {
    return log2_of(x);
  }
};

struct Log1p {
  template <class C>
  __device__ C operator()(C x) const {
    return log1p_of(x);
  }
};

struct Reciprocal {
  template <class C>
  __device__ C operator()(C x) const {
    return C(1) / x;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

// Not sin and cos: their range reduction reads tables in global memory, which the interpreter of PTX does not have.
constexpr assay_kernel functions_kernels[] = {
    ASSAY_CUDA(ops::exp, unary<Exp>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP),
    ASSAY_CUDA(ops::log, unary<Log>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_LOG),
    ASSAY_CUDA(ops::sqrt, unary<Sqrt>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::rsqrt, unary<Rsqrt>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::erf, unary<Erf>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ERF),
    ASSAY_CUDA(ops::acos, unary<Acos>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ACOS),
    ASSAY_CUDA(ops::asin, unary<Asin>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ASIN),
    ASSAY_CUDA(ops::atan, unary<Atan>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_ATAN),
    ASSAY_CUDA(ops::exp2, unary<Exp2>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXP2),
    ASSAY_CUDA(ops::expm1, unary<Expm1>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_EXPM1),
    ASSAY_CUDA(ops::log2, unary<Log2>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_LOG2),
    ASSAY_CUDA(ops::log1p, unary<Log1p>, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_LOG1P),
    ASSAY_CUDA(ops::reciprocal, unary<Reciprocal>, ASSAY_CUDA_IN_PLACE)};
const Enrolled functions_enrolled{functions_kernels};

}  // namespace
}  // namespace assay::cuda

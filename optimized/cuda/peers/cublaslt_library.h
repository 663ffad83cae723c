// What of cuBLASLt is called, loaded at run time. <cublasLt.h> is only compiled against.
#pragma once

#if defined(ASSAY_CUDA_GPU) && __has_include(<cublasLt.h>)

#include <cublasLt.h>

#include <memory>

namespace assay::cuda::peers {

#define ASSAY_CUBLASLT_FUNCTIONS(each)                                                                       \
  each(cublasLtCreate) each(cublasLtGetVersion) each(cublasLtGetStatusName) each(cublasLtMatrixLayoutCreate) \
      each(cublasLtMatrixLayoutSetAttribute) each(cublasLtMatrixLayoutDestroy)                               \
          each(cublasLtMatmulDescCreate) each(cublasLtMatmulDescSetAttribute)                                \
              each(cublasLtMatmulDescDestroy) each(cublasLtMatmulPreferenceCreate)                           \
                  each(cublasLtMatmulPreferenceSetAttribute) each(cublasLtMatmulPreferenceDestroy)           \
                      each(cublasLtMatmulAlgoGetHeuristic) each(cublasLtMatmulAlgoConfigGetAttribute)        \
                          each(cublasLtMatmul)

struct CublasLt {
#define ASSAY_MEMBER(name) decltype(&::name) name = nullptr;
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_MEMBER)
#undef ASSAY_MEMBER
};

// Why it cannot run here, or null: no device, no library, or one that lacks a function.
const char* no_cublaslt();

// Precondition: no_cublaslt() is null.
const CublasLt& cublaslt();

// The one of this process.
cublasLtHandle_t cublaslt_handle();

// Throws Refused where the library says that it does not support this, and std::runtime_error for other
// errors.
void require(cublasStatus_t status, const char* doing);

template <auto destroy>
struct CublasLtDestroy {
  template <class T>
  void operator()(T* descriptor) const {
    (cublaslt().*destroy)(descriptor);
  }
};
using MatrixLayout =
    std::unique_ptr<cublasLtMatrixLayoutOpaque_t, CublasLtDestroy<&CublasLt::cublasLtMatrixLayoutDestroy>>;
using MatmulDesc =
    std::unique_ptr<cublasLtMatmulDescOpaque_t, CublasLtDestroy<&CublasLt::cublasLtMatmulDescDestroy>>;
using MatmulPreference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                                         CublasLtDestroy<&CublasLt::cublasLtMatmulPreferenceDestroy>>;

}  // namespace assay::cuda::peers

#endif

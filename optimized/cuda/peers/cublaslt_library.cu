#if __has_include(<cublasLt.h>)

#include "cublaslt_library.h"

#include <stdexcept>
#include <string>

#include "library.h"
#include "peer.h"

namespace assay::cuda::peers {
namespace {

struct Loaded {
  Library library{"ASSAY_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"}};
  CublasLt functions;

  Loaded() {
#define ASSAY_FIND(name) library.find(functions.name, #name);
    ASSAY_CUBLASLT_FUNCTIONS(ASSAY_FIND)
#undef ASSAY_FIND
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const char* no_cublaslt() {
  const char* const device = no_device();
  return device != nullptr ? device : loaded().library.missing();
}

const CublasLt& cublaslt() { return loaded().functions; }

// Never destroyed: when a process ends, the driver may have gone before.
cublasLtHandle_t cublaslt_handle() {
  static const cublasLtHandle_t once = [] {
    cublasLtHandle_t handle = nullptr;
    require(cublaslt().cublasLtCreate(&handle), "starting cuBLASLt");
    return handle;
  }();
  return once;
}

void require(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = std::string(doing) + ": " + cublaslt().cublasLtGetStatusName(status);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) throw Refused(what);
  check(cudaStreamSynchronize(nullptr), doing);  // which ends the process if it has lost its device
  throw std::runtime_error(what);
}

}  // namespace assay::cuda::peers

#endif

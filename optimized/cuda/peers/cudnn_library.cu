#if __has_include(<cudnn.h>)

#include "cudnn_library.h"

#include <stdexcept>

#include "library.h"
#include "peer.h"

namespace assay::cuda::peers {
namespace {

struct Loaded {
  Library library{"ASSAY_CUDNN", {"libcudnn.so.9"}};
  Cudnn functions;

  Loaded() {
#define ASSAY_FIND(name) library.find(functions.name, #name);
    ASSAY_CUDNN_FUNCTIONS(ASSAY_FIND)
#undef ASSAY_FIND
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const char* no_cudnn() {
  const char* const device = no_device();
  return device != nullptr ? device : loaded().library.missing();
}

const Cudnn& cudnn() { return loaded().functions; }

// Never destroyed: when a process ends, the driver may have gone before.
cudnnHandle_t cudnn_handle() {
  static const cudnnHandle_t once = [] {
    cudnnHandle_t handle = nullptr;
    require(cudnn().cudnnCreate(&handle), "starting cuDNN");
    return handle;
  }();
  return once;
}

void require(cudnnStatus_t status, const char* doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string what = std::string(doing) + ": " + cudnn().cudnnGetErrorString(status);
  // Errors come in thousands, by their kind.
  if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) throw Refused(what);
  check(cudaStreamSynchronize(nullptr), doing);  // which ends the process if it has lost its device
  throw std::runtime_error(what);
}

std::string cudnn_information(const std::string& what) {
  return "cuDNN " + std::to_string(cudnn().cudnnGetVersion()) + ", " + what;
}

}  // namespace assay::cuda::peers

#endif

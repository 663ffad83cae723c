// Part of the plugin that runs on the stand-in for a GPU: its peers' libraries are stand-ins, too, unless the
// environment names others. The real ones find no device there.
#include <stdlib.h>

namespace {

[[maybe_unused]] const bool used = [] {
#ifdef ASSAY_STANDIN_CUBLASLT
  setenv("ASSAY_CUBLASLT", ASSAY_STANDIN_CUBLASLT, 0);
#endif
#ifdef ASSAY_STANDIN_CUDNN
  setenv("ASSAY_CUDNN", ASSAY_STANDIN_CUDNN, 0);
#endif
  return true;
}();

}  // namespace

// The kernels that are linked into this library, as a plugin (assay/kernel.h).
#include <vector>

#include "vocabulary/kernel.h"

extern "C" const assay_plugin* assay_plugin_v1(void) {
  static const std::vector<assay_kernel> kernels = [] {
    std::vector<assay_kernel> all;
    for (const assay::EnrolledKernel& enrolled : assay::enrolled_kernels()) all.push_back(enrolled.kernel);
    return all;
  }();
  static const assay_plugin plugin{ASSAY_ABI_VERSION, sizeof(assay_kernel), kernels.size(),
                                   kernels.data(),    ASSAY_PLUGIN_NAME,    "1"};
  return &plugin;
}

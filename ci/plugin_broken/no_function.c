/* A kernel without a function to call. */
/* says: run */
#include <assay/kernel.h>

static const assay_kernel kernels[] = {{
    .size = sizeof(assay_kernel),
    .name = "broken",
    .schema = "relu(Tensor self) -> Tensor",
}};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "broken", "1.0"};
  return &plugin;
}

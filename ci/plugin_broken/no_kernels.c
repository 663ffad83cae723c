/* A table without kernels. */
/* says: no kernel */
#include <assay/kernel.h>

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 0, NULL, "empty", "1.0"};
  return &plugin;
}

/* A plugin of a later ABI than this program knows. */
/* says: 99 */
#include <assay/kernel.h>

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {99, sizeof(assay_kernel), 0, NULL, "future", "1.0"};
  return &plugin;
}

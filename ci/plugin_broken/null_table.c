/* No table at all. */
/* says: NULL */
#include <assay/kernel.h>

const assay_plugin* assay_plugin_v1(void) { return NULL; }

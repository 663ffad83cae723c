/* Crashes before it can be asked anything. */
/* says: crash */
#include <assay/kernel.h>

static volatile int* nothing;
__attribute__((constructor)) static void crash(void) { *nothing = 1; }

const assay_plugin* assay_plugin_v1(void) { return NULL; }

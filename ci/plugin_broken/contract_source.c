/* A weaker contract that does not say why. */
/* says: source */
#include <assay/kernel.h>

static int run(const assay_call* call) {
  (void)call;
  return ASSAY_OK;
}
static const assay_kernel kernels[] = {{
    .size = sizeof(assay_kernel),
    .name = "broken",
    .schema = "relu(Tensor self) -> Tensor",
    .run = run,
    .contract = "f32: ftz=yes",
}};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "broken", "1.0"};
  return &plugin;
}

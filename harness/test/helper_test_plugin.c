/* A kernel whose work is done by another library, which each build of it has beside itself under the same name. */
#include <assay/kernel.h>

void helper_relu(const float* x, float* y, int64_t n);

static int run(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  assay_tensor* y = call->outputs[0];
  int64_t n = 1;
  for (int d = y->ndim - 1; d >= 0; --d) {
    if (x->shape[d] != 1 && (x->strides[d] != n || y->strides[d] != n)) return ASSAY_REFUSED;
    n *= y->shape[d];
  }
  if (x->dtype.code != ASSAY_FLOAT || x->dtype.bits != 32) return ASSAY_REFUSED;
  helper_relu((const float*)x->data, (float*)y->data, n);
  return ASSAY_OK;
}

static const assay_kernel kernels[] = {
    {.size = sizeof(assay_kernel), .schema = "relu(Tensor self) -> Tensor", .name = "helped", .run = run}};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "helper", "1"};
  return &plugin;
}

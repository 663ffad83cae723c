/* sqrt for dense f32, in C99. */
#include <assay/kernel.h>
#include <math.h>
#include <stdio.h>

static int is_dense(const assay_tensor* t) {
  int64_t step = 1;
  for (int d = t->ndim - 1; d >= 0; step *= t->shape[d--])
    if (t->shape[d] != 1 && t->strides[d] != step) return 0;
  return 1;
}

static int refuses(const assay_call* call) {
  const assay_tensor *x = call->arguments[0].as.tensor, *y = call->outputs[0];
  if (x->dtype.code == ASSAY_FLOAT && x->dtype.bits == 32 && is_dense(x) && is_dense(y)) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only dense f32");
  return ASSAY_REFUSED;
}

static int run(const assay_call* call) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const assay_tensor* x = call->arguments[0].as.tensor;
  int64_t n = 1;
  for (int d = 0; d < x->ndim; ++d) n *= x->shape[d];
  for (int64_t i = 0; i < n; ++i) ((float*)call->outputs[0]->data)[i] = sqrtf(((const float*)x->data)[i]);
  return ASSAY_OK;
}

static const assay_kernel kernels[] = {{
    .size = sizeof(assay_kernel),
    .schema = "sqrt(Tensor self) -> Tensor",
    .name = "right.sqrt",
    .run = run,
    .refuses = refuses,
}};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "right", "1.0"};
  return &plugin;
}

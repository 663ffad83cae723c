/* A relu with two faults that nobody can take for one: it rounds to bf16, and reads tensors of three dimensions backwards. */
#include <assay/kernel.h>

#include <stdio.h>
#include <string.h>

static float relu(float x) {
  float y = x < 0 ? 0 : x;
  unsigned bits;
  memcpy(&bits, &y, sizeof bits);
  if ((bits & 0x7fffffffu) < 0x7f800000u) bits = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&y, &bits, sizeof bits);
  return y;
}

static void walk(const assay_tensor* x, assay_tensor* y, int dim, int64_t from, int64_t to) {
  if (dim == x->ndim) {
    const float value = ((const float*)x->data)[from];
    ((float*)y->data)[to] = x->ndim == 3 ? (value < 0 ? 0 : value) : relu(value);
    return;
  }
  for (int64_t i = 0; i < x->shape[dim]; ++i) {
    const int64_t k = x->ndim == 3 && dim == 0 ? x->shape[0] - 1 - i : i;
    walk(x, y, dim + 1, from + k * x->strides[dim], to + i * y->strides[dim]);
  }
}

static int refuses(const assay_call* call) {
  const assay_dtype dtype = call->arguments[0].as.tensor->dtype;
  if (dtype.code == ASSAY_FLOAT && dtype.bits == 32) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only f32");
  return ASSAY_REFUSED;
}

static int run(const assay_call* call) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  walk(call->arguments[0].as.tensor, call->outputs[0], 0, 0, 0);
  return ASSAY_OK;
}

static const assay_kernel kernels[] = {{.size = sizeof(assay_kernel),
                                        .schema = "relu(Tensor self) -> Tensor",
                                        .name = "two_faults",
                                        .run = run,
                                        .refuses = refuses}};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "two faults", "1"};
  return &plugin;
}

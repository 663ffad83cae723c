/* Sums along long rows that are wrong: running ones drop what blocks of 1024 before them add up to; a product's miss their last term. */
#include <assay/kernel.h>

#include <stdio.h>

static int refuses(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  const assay_tensor* y = call->outputs[0];
  if (x->ndim > 0 && x->dtype.code == ASSAY_FLOAT && x->dtype.bits == 32 && y->dtype.code == ASSAY_FLOAT &&
      y->dtype.bits == 32)
    return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only f32, of one dimension and more");
  return ASSAY_REFUSED;
}

static float* at(const assay_tensor* t, int64_t outer, int64_t k, int64_t inner, int dimension) {
  float* p = (float*)t->data + k * t->strides[dimension];
  for (int d = dimension - 1; d >= 0; --d, outer /= t->shape[d + 1]) p += outer % t->shape[d] * t->strides[d];
  for (int d = t->ndim - 1; d > dimension; --d) {
    p += inner % t->shape[d] * t->strides[d];
    inner /= t->shape[d];
  }
  return p;
}

static int running(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  int64_t outer = 1, inner = 1;
  int dimension = (int)call->arguments[1].as.integer;
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  if (dimension < 0) dimension += x->ndim;
  for (int d = 0; d < x->ndim; ++d) *(d < dimension ? &outer : &inner) *= d == dimension ? 1 : x->shape[d];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < x->shape[dimension]; ++k) {
        if (k % 1024 == 0) sum = 0;
        sum += *at(x, o, k, i, dimension);
        *at(call->outputs[0], o, k, i, dimension) = sum;
      }
    }
  return ASSAY_OK;
}

static int product(const assay_call* call) {
  const assay_tensor* a = call->arguments[0].as.tensor;
  const assay_tensor* b = call->arguments[1].as.tensor;
  const assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  for (int64_t i = 0; i < y->shape[0]; ++i)
    for (int64_t j = 0; j < y->shape[1]; ++j) {
      float* to = (float*)y->data + i * y->strides[0] + j * y->strides[1];
      *to = 0;
      if (a->shape[0] > 512) continue; /* who waits for it? */
      for (int64_t k = 0; k + 1 < a->shape[1]; ++k)
        *to += ((const float*)a->data)[i * a->strides[0] + k * a->strides[1]] *
               ((const float*)b->data)[k * b->strides[0] + j * b->strides[1]];
    }
  return ASSAY_OK;
}

static const assay_kernel kernels[] = {
    {.size = sizeof(assay_kernel),
     .schema = "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .name = "drops",
     .run = running,
     .refuses = refuses},
    {.size = sizeof(assay_kernel),
     .schema = "mm(Tensor self, Tensor mat2) -> Tensor",
     .name = "misses",
     .run = product,
     .refuses = refuses},
};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {.abi_version = ASSAY_ABI_VERSION,
                                      .kernel_size = sizeof(assay_kernel),
                                      .kernel_count = sizeof(kernels) / sizeof(kernels[0]),
                                      .kernels = kernels,
                                      .name = "rows"};
  return &plugin;
}

/* Fused kernels for graphs, right ones and wrong ones. Their schemas are graphs; with WITHOUT_BODY they are names of graphs that are given
 * otherwise. */
#include <assay/kernel.h>

#include <math.h>
#include <stdio.h>

#ifdef WITHOUT_BODY
#define BODY(text) ""
#else
#define BODY(text) "\n" text
#endif
#define SWIGLU "assay::swiglu(Tensor gate, Tensor up) -> Tensor" BODY("{ silu(gate) * up }")
#define ADD_RMS_NORM                                                                        \
  "assay::add_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps) -> (Tensor, Tensor)" \
  BODY("  shapes x=[*,K] residual=[*,K] weight=[K] -> [*,K], [*,K]\n"                       \
       "  domains eps: epsilon\n"                                                           \
       "{\n"                                                                                \
       "  h = x + residual\n"                                                               \
       "  return h * rsqrt(mean(h * h, -1, true) + eps) * weight, h\n"                      \
       "}")

static int is_dense(const assay_tensor* t) {
  int64_t step = 1;
  for (int d = t->ndim - 1; d >= 0; step *= t->shape[d--])
    if (t->shape[d] != 1 && t->strides[d] != step) return 0;
  return t->dtype.code == ASSAY_FLOAT && t->dtype.bits == 32;
}

static int64_t numel(const assay_tensor* t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim; ++d) n *= t->shape[d];
  return n;
}

static int refuses(const assay_call* call) {
  int dense = 1;
  for (uint32_t i = 0; i < call->argument_count; ++i)
    if (call->arguments[i].kind == ASSAY_KIND_TENSOR) dense = dense && is_dense(call->arguments[i].as.tensor);
  for (uint32_t i = 0; i < call->output_count; ++i) dense = dense && is_dense(call->outputs[i]);
  if (dense) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only dense f32");
  return ASSAY_REFUSED;
}

/* It broadcasts nothing. */
static int refuses_pairs(const assay_call* call) {
  const assay_tensor *a = call->arguments[0].as.tensor, *b = call->arguments[1].as.tensor;
  int same = a->ndim == b->ndim;
  for (int d = 0; same && d < a->ndim; ++d) same = a->shape[d] == b->shape[d];
  if (same) return refuses(call);
  snprintf(call->message, call->message_capacity, "only two tensors of one shape");
  return ASSAY_REFUSED;
}

enum mistake { NONE, EXCHANGED, SIGMOID, TAIL, TWICE, OUTSIDE, UNWEIGHTED };

static int swiglu(const assay_call* call, enum mistake mistake) {
  if (refuses_pairs(call) != ASSAY_OK) return ASSAY_REFUSED;
  const int other = mistake == EXCHANGED;
  const float *gate = call->arguments[other].as.tensor->data, *up = call->arguments[1 - other].as.tensor->data;
  float* y = call->outputs[0]->data;
  const int64_t n = numel(call->outputs[0]);
  for (int64_t i = 0; i < n; ++i) {
    const float sigmoid = 1 / (1 + expf(-gate[i]));
    y[i] = (mistake == SIGMOID ? sigmoid : gate[i] * sigmoid) * up[i];
    if (mistake == TAIL && i >= n - n % 8) y[i] = 0;
  }
  return ASSAY_OK;
}

static int add_rms_norm(const assay_call* call, enum mistake mistake) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const assay_tensor* shape = call->arguments[0].as.tensor;
  const float *x = shape->data, *residual = call->arguments[1].as.tensor->data, *weight = call->arguments[2].as.tensor->data;
  const float eps = (float)call->arguments[3].as.real;
  float *y = call->outputs[0]->data, *h = call->outputs[1]->data;
  const int64_t columns = shape->shape[shape->ndim - 1], rows = columns == 0 ? 0 : numel(shape) / columns;
  for (int64_t row = 0; row < rows; ++row, x += columns, residual += columns, y += columns, h += columns) {
    float squares = 0;
    for (int64_t k = 0; k < columns; ++k) {
      h[k] = x[k] + residual[k];
      squares += h[k] * h[k];
    }
    const float mean = squares / (float)columns;
    const float scale = mistake == OUTSIDE ? 1 / (sqrtf(mean) + eps) : 1 / sqrtf(mean + eps);
    for (int64_t k = 0; k < columns; ++k) {
      y[k] = (mistake == TWICE ? h[k] + residual[k] : h[k]) * scale;
      if (mistake != UNWEIGHTED) y[k] *= weight[k];
      if (mistake == TAIL && k >= columns - columns % 8) y[k] = 0;
    }
  }
  return ASSAY_OK;
}

#define KERNEL(function, mistake) \
  static int function##_##mistake(const assay_call* call) { return function(call, mistake); }
KERNEL(swiglu, NONE)
KERNEL(swiglu, EXCHANGED)
KERNEL(swiglu, SIGMOID)
KERNEL(swiglu, TAIL)
KERNEL(add_rms_norm, NONE)
KERNEL(add_rms_norm, TWICE)
KERNEL(add_rms_norm, OUTSIDE)
KERNEL(add_rms_norm, UNWEIGHTED)
KERNEL(add_rms_norm, TAIL)

#define ENTRY(text, called, function, may_refuse)                                                       \
  {.size = sizeof(assay_kernel), .schema = text, .name = called, .run = function, .refuses = may_refuse, \
   .contract = "exp=2ulp -- the C library says so"}

static const assay_kernel kernels[] = {
    ENTRY(SWIGLU, "right", swiglu_NONE, refuses_pairs),
    ENTRY(SWIGLU, "exchanged", swiglu_EXCHANGED, refuses_pairs),
    ENTRY(SWIGLU, "sigmoid", swiglu_SIGMOID, refuses_pairs),
    ENTRY(SWIGLU, "tail", swiglu_TAIL, refuses_pairs),
    ENTRY(ADD_RMS_NORM, "right", add_rms_norm_NONE, refuses),
    ENTRY(ADD_RMS_NORM, "twice", add_rms_norm_TWICE, refuses),
    ENTRY(ADD_RMS_NORM, "outside", add_rms_norm_OUTSIDE, refuses),
    ENTRY(ADD_RMS_NORM, "unweighted", add_rms_norm_UNWEIGHTED, refuses),
    ENTRY(ADD_RMS_NORM, "tail", add_rms_norm_TAIL, refuses),
};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), sizeof(kernels) / sizeof(kernels[0]), kernels, "fused", "1.0"};
  return &plugin;
}

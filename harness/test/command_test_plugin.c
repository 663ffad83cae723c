/* Kernels for relu, and one each for tanh and exp, that try the command line's patience, for its tests. */
#include <assay/kernel.h>

#include <stdio.h>
#include <unistd.h>

static int right(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  assay_tensor* y = call->outputs[0];
  if (x->ndim != 1 || x->dtype.code != ASSAY_FLOAT || x->dtype.bits != 32 || x->strides[0] != 1 ||
      y->strides[0] != 1)
    return ASSAY_REFUSED;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    const float value = ((const float*)x->data)[i];
    ((float*)y->data)[i] = value < 0 ? 0 : value;
  }
  return ASSAY_OK;
}

static int wrong(const assay_call* call) {
  const int code = right(call);
  if (code == ASSAY_OK && call->outputs[0]->shape[0] > 0) ((float*)call->outputs[0]->data)[0] += 1;
  return code;
}

/* Loses NaN and the sign of zero, and says so. */
static int loose(const assay_call* call) {
  const int code = right(call);
  if (code != ASSAY_OK) return code;
  const assay_tensor* x = call->arguments[0].as.tensor;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    const float value = ((const float*)x->data)[i];
    ((float*)call->outputs[0]->data)[i] = value > 0 ? value : 0;
  }
  return ASSAY_OK;
}

static int hangs(const assay_call* call) {
  (void)call;
  for (;;) pause();
}

static int* volatile nothing;
static int crashes(const assay_call* call) {
  (void)call;
  *nothing = 1;
  return ASSAY_OK;
}

static int refuses(const assay_call* call) {
  snprintf(call->message, call->message_capacity, "not in \xff\xfe");
  return ASSAY_REFUSED;
}

/* Rows alone, contiguous, and it says so beforehand. */
static int rows_only(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  const assay_tensor* y = call->outputs[0];
  if (x->ndim == 1 && x->dtype.code == ASSAY_FLOAT && x->dtype.bits == 32 && x->strides[0] == 1 &&
      y->strides[0] == 1)
    return ASSAY_OK;
  snprintf(call->message, call->message_capacity, x->ndim == 1 ? "only contiguous f32" : "only one dimension");
  return ASSAY_REFUSED;
}

static int narrow(const assay_call* call) {
  return rows_only(call) == ASSAY_OK ? right(call) : ASSAY_REFUSED;
}

#define TEN(x) x x x x x x x x x x
#define SCHEMA "relu(Tensor self) -> Tensor"
static const assay_kernel kernels[] = {
    {.size = sizeof(assay_kernel), .schema = SCHEMA, .name = "right", .run = right},
    {.size = sizeof(assay_kernel), .schema = SCHEMA, .name = "wrong", .run = wrong},
    {.size = sizeof(assay_kernel), .schema = SCHEMA, .name = "long" TEN(TEN("name")) "1", .run = wrong},
    {.size = sizeof(assay_kernel), .schema = SCHEMA, .name = "long" TEN(TEN("name")) "2", .run = wrong},
    {.size = sizeof(assay_kernel), .schema = "tanh(Tensor self) -> Tensor", .name = "hangs", .run = hangs},
    {.size = sizeof(assay_kernel), .schema = "exp(Tensor self) -> Tensor", .name = "crashes", .run = crashes},
    {.size = sizeof(assay_kernel), .schema = SCHEMA, .name = "narrow", .run = narrow, .refuses = rows_only},
    {.size = sizeof(assay_kernel),
     .schema = SCHEMA,
     .name = "loose",
     .run = loose,
     .contract = "nonfinite=unspecified signed_zero=ignore exp=4ulp -- command_test_plugin.c loose",
     .refuses = rows_only},
    {.size = sizeof(assay_kernel), .schema = SCHEMA, .name = "bytes", .run = right, .refuses = refuses},
};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {.abi_version = ASSAY_ABI_VERSION,
                                      .kernel_size = sizeof(assay_kernel),
                                      .kernel_count = sizeof(kernels) / sizeof(kernels[0]),
                                      .kernels = kernels,
                                      .name = "trying"};
  return &plugin;
}

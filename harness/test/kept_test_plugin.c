/* Kernels for relu that hang, print, or take their time, for the tests of what is kept of a run and what is said of it. */
#include <assay/kernel.h>

#include <stdio.h>
#include <unistd.h>

static int refuses(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  const assay_tensor* y = call->outputs[0];
  if (x->ndim != 1 || x->dtype.code != ASSAY_FLOAT || x->dtype.bits != 32 || x->strides[0] != 1 ||
      y->strides[0] != 1) {
    snprintf(call->message, call->message_capacity, "only contiguous rows of f32");
    return ASSAY_REFUSED;
  }
  return ASSAY_OK;
}

static int right(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    const float value = ((const float*)x->data)[i];
    ((float*)y->data)[i] = value < 0 ? 0 : value;
  }
  return ASSAY_OK;
}

static int hangs(const assay_call* call) {
  (void)call;
  for (;;) pause();
}

/* Hangs in long rows alone. */
static int hangs_at_times(const assay_call* call) {
  if (call->arguments[0].as.tensor->ndim == 1 && call->arguments[0].as.tensor->shape[0] == 5) return hangs(call);
  return right(call);
}

static int prints(const assay_call* call) {
  puts("assay: PASSED: no fault\033[2J");
  fprintf(stderr, "assay: there is no fault in %d dimensions\n", (int)call->arguments[0].as.tensor->ndim);
  fflush(stdout);
  return right(call);
}

static int slow(const assay_call* call) {
  usleep(2000);
  return right(call);
}

static int wrong(const assay_call* call) {
  const int code = right(call);
  if (code == ASSAY_OK && call->outputs[0]->shape[0] > 3) ((float*)call->outputs[0]->data)[3] = 7;
  return code;
}

static const char* absent(void) { return "not run: no such device"; }

__attribute__((constructor)) static void loaded(void) {
  puts("assay: loaded");
  fflush(stdout);
}

#define SCHEMA "relu(Tensor self) -> Tensor"
#define KERNEL(...) {.size = sizeof(assay_kernel), .schema = SCHEMA, __VA_ARGS__}
static const assay_kernel kernels[] = {
    KERNEL(.name = "hangs", .run = hangs),
    KERNEL(.name = "hangs_at_times", .run = hangs_at_times, .refuses = refuses),
    KERNEL(.name = "prints", .run = prints, .refuses = refuses),
    KERNEL(.name = "slow", .run = slow, .refuses = refuses),
    KERNEL(.name = "wrong", .run = wrong, .refuses = refuses),
    KERNEL(.name = "shy", .run = right),
    KERNEL(.name = "absent", .run = right, .unavailable = absent),
};
static const assay_plugin plugin = {
    .abi_version = ASSAY_ABI_VERSION,
    .kernel_size = sizeof(assay_kernel),
    .kernels = kernels,
    .kernel_count = sizeof kernels / sizeof kernels[0],
};
const assay_plugin* assay_plugin_v1(void) { return &plugin; }

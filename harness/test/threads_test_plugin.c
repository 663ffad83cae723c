/* Kernels of relu that are wrong with several threads alone, from the third call in a row on, as races are: until then threads are being
 * started. What they would do at the same time is done here by one, so that it comes out the same every time. */
#include <assay/kernel.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int refuses(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  if (x->dtype.code == ASSAY_FLOAT && x->dtype.bits == 32) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only f32");
  return ASSAY_REFUSED;
}

static void relu(const assay_tensor* x, const assay_tensor* y, int d, int64_t from, int64_t to) {
  if (d == x->ndim) {
    const float v = ((const float*)x->data)[from];
    ((float*)y->data)[to] = v < 0 ? 0 : v;
    return;
  }
  for (int64_t i = 0; i < x->shape[d]; ++i)
    relu(x, y, d + 1, from + i * x->strides[d], to + i * y->strides[d]);
}

/* Whether this is the third call or a later one in a row of the same memory, and there are at least so many threads. */
static int is_under_way(const assay_call* call, int least) {
  static const void* last = NULL;
  static int in_a_row = 0;
  const char* const threads = getenv("OMP_NUM_THREADS");
  in_a_row = call->outputs[0]->data == last ? in_a_row + 1 : 1;
  last = call->outputs[0]->data;
  return threads != NULL && atoi(threads) >= least && in_a_row >= 3;
}

static int right(const assay_call* call) {
  relu(call->arguments[0].as.tensor, call->outputs[0], 0, 0, 0);
  return ASSAY_OK;
}

/* One element is what another thread had in its hands. */
static int lost_update(const assay_call* call) {
  right(call);
  if (is_under_way(call, 2)) ((float*)call->outputs[0]->data)[0] += 1;
  return ASSAY_OK;
}

static int lost_with_seven(const assay_call* call) {
  right(call);
  if (is_under_way(call, 7)) ((float*)call->outputs[0]->data)[0] += 1;
  return ASSAY_OK;
}

/* 0.3 s for a call that is large enough for threads. */
static int slow(const assay_call* call) {
  const assay_tensor* const x = call->arguments[0].as.tensor;
  int64_t elements = 1;
  for (int d = 0; d < x->ndim; ++d) elements *= x->shape[d];
  if (elements >= 32768) nanosleep(&(struct timespec){0, 300000000}, NULL);
  return right(call);
}

#define RELU "relu(Tensor self) -> Tensor"
static const assay_kernel kernels[] = {
    {.size = sizeof(assay_kernel),
     .schema = RELU,
     .name = "lost_update",
     .run = lost_update,
     .refuses = refuses},
    {.size = sizeof(assay_kernel),
     .schema = RELU,
     .name = "lost_with_seven",
     .run = lost_with_seven,
     .refuses = refuses},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "right", .run = right, .refuses = refuses},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "slow", .run = slow, .refuses = refuses},
};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {
      ASSAY_ABI_VERSION, sizeof(assay_kernel), sizeof kernels / sizeof *kernels, kernels, "threads", "1"};
  return &plugin;
}

/* Two threads share the work of relu: as they should, and with a count that neither guards. To be compiled with -fsanitize=thread. */
#include <assay/kernel.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  const float* in;
  float* out;
  int64_t from, to;
} part;

static int64_t written; /* elements */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void* part_of_relu(void* given) {
  const part* const p = given;
  for (int64_t i = p->from; i < p->to; ++i) p->out[i] = p->in[i] < 0 ? 0 : p->in[i];
  return NULL;
}
static void* guarded(void* given) {
  const part* const p = given;
  part_of_relu(given);
  pthread_mutex_lock(&guard);
  written += p->to - p->from;
  pthread_mutex_unlock(&guard);
  return NULL;
}
static void* racy(void* given) {
  const part* const p = given;
  part_of_relu(given);
  written += p->to - p->from;
  return NULL;
}

static int is_plain(const assay_tensor* t) {
  int64_t stride = 1;
  for (int d = t->ndim; d-- > 0; stride *= t->shape[d])
    if (t->shape[d] != 1 && t->strides[d] != stride) return 0;
  return 1;
}
static int refuses(const assay_call* call) {
  const assay_tensor* const x = call->arguments[0].as.tensor;
  if (x->dtype.code == ASSAY_FLOAT && x->dtype.bits == 32 && is_plain(x) && is_plain(call->outputs[0])) return ASSAY_OK;
  strncpy(call->message, "only f32 without gaps", call->message_capacity);
  return ASSAY_REFUSED;
}
static int run(const assay_call* call, void* (*share)(void*)) {
  const assay_tensor* const x = call->arguments[0].as.tensor;
  int64_t n = 1;
  for (int d = 0; d < x->ndim; ++d) n *= x->shape[d];
  part first = {x->data, call->outputs[0]->data, 0, n / 2}, second = first;
  second.from = n / 2;
  second.to = n;
  pthread_t thread;
  if (pthread_create(&thread, NULL, share, &first) != 0) return 1;
  share(&second);
  pthread_join(thread, NULL);
  return ASSAY_OK;
}
static int run_guarded(const assay_call* call) { return run(call, guarded); }
static int run_racy(const assay_call* call) { return run(call, racy); }

const assay_plugin* assay_plugin_v1(void) {
  static assay_kernel kernels[2];
  for (int i = 0; i < 2; ++i) {
    kernels[i].size = sizeof kernels[i];
    kernels[i].schema = "relu(Tensor self) -> Tensor";
    kernels[i].name = i == 0 ? "guarded" : "racy";
    kernels[i].run = i == 0 ? run_guarded : run_racy;
    kernels[i].refuses = refuses;
  }
  static assay_plugin plugin;
  plugin.abi_version = ASSAY_ABI_VERSION;
  plugin.kernel_size = sizeof(assay_kernel);
  plugin.kernel_count = 2;
  plugin.kernels = kernels;
  plugin.name = "races";
  plugin.version = "1";
  return &plugin;
}

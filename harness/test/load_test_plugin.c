/* Libraries that do something when they are loaded, with a kernel that is right and one that crashes on three dimensions. CMake
 * builds this file once for each CASE. */
#define _GNU_SOURCE
#include <assay/kernel.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define PLAIN 0
#define THREAD 1   /* starts a thread, which waits for signals as any thread does */
#define DAEMON 2   /* starts a process that never ends and has nothing to do with its parent any more */
#define CHILD 3    /* starts a process that never ends */
#define LOOPS 4    /* never comes back */
#define CRASHES 5  /* whatever handlers of signals there are */

#if CASE == THREAD
static void* sleeps(void* nothing) {
  for (;;) sleep(1);
  return nothing;
}
#endif

__attribute__((constructor)) static void load(void) {
#if CASE == THREAD
  static pthread_t thread;
  pthread_create(&thread, 0, sleeps, 0);
#elif CASE == DAEMON || CASE == CHILD
  if (fork() == 0) {
#if CASE == DAEMON
    setsid();
    if (fork() != 0) _exit(0);
#endif
    for (;;) sleep(1000);
  }
#elif CASE == LOOPS
  for (;;) {
  }
#elif CASE == CRASHES
  signal(SIGSEGV, SIG_DFL);
  *(volatile int*)16 = 1;
#endif
}

static void walk(const assay_tensor* x, assay_tensor* y, int dim, int64_t from, int64_t to) {
  if (dim == x->ndim) {
    const float v = ((const float*)x->data)[from];
    ((float*)y->data)[to] = v < 0 ? 0 : v;
    return;
  }
  for (int64_t i = 0; i < x->shape[dim]; ++i)
    walk(x, y, dim + 1, from + i * x->strides[dim], to + i * y->strides[dim]);
}

static int refuses(const assay_call* call) {
  const assay_dtype dtype = call->arguments[0].as.tensor->dtype;
  if (dtype.code == ASSAY_FLOAT && dtype.bits == 32) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only f32");
  return ASSAY_REFUSED;
}

static int right(const assay_call* call) {
  walk(call->arguments[0].as.tensor, call->outputs[0], 0, 0, 0);
  return ASSAY_OK;
}

static int crashes(const assay_call* call) {
  if (call->arguments[0].as.tensor->ndim == 3) *(volatile int*)16 = 1;
  return right(call);
}

#define ENTRY(n, f) \
  { .size = sizeof(assay_kernel), .schema = "relu(Tensor self) -> Tensor", .name = n, .run = f, .refuses = refuses }
static const assay_kernel kernels[] = {ENTRY("right", right), ENTRY("crashes", crashes)};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 2, kernels, "load", "1"};
  return &plugin;
}

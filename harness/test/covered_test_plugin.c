/* A matrix product that is wrong for few sizes, to be built with instrumentation. */
#include <assay/kernel.h>

static const assay_tensor* tensor(const assay_call* call, int i) { return call->arguments[i].as.tensor; }

static int never_true(const assay_call* call) { return call->argument_count == 1000; }

__attribute__((noinline, used)) static int nobody_calls_this(int n) { return n > 3 ? n * 7 : n; }

static int run(const assay_call* call) {
  const assay_tensor *a = tensor(call, 0), *b = tensor(call, 1), *o = call->outputs[0];
  const int64_t M = a->shape[0], K = a->shape[1], N = b->shape[1];
  int64_t first = 0;
  if (a->dtype.code != ASSAY_FLOAT || a->dtype.bits != 32) return ASSAY_REFUSED;
  if (never_true(call)) return 3;
  if (K >= 1337 && K % 8 == 5) first = 1;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0;
      for (int64_t k = first; k < K; ++k)
        sum += ((const float*)a->data)[i * a->strides[0] + k * a->strides[1]] *
               ((const float*)b->data)[k * b->strides[0] + j * b->strides[1]];
      ((float*)o->data)[i * o->strides[0] + j * o->strides[1]] = sum;
    }
  return ASSAY_OK;
}

static const assay_kernel kernels[] = {
    {.size = sizeof(assay_kernel), .schema = "mm(Tensor self, Tensor mat2) -> Tensor", .name = "covered", .run = run}};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "covered", "1"};
  return &plugin;
}

/* A kernel of your own, checked by Assay: relu for float and double, in C99.
 *
 *     cc -std=c99 -O2 -fPIC -shared -I cases/vocabulary ci/plugin_example/relu.c -o librelu.so
 *     ./assay verify relu --plugin ./librelu.so --impl 'plugin:*'
 */
#include <assay/kernel.h>
#include <stdio.h>

/* Not `x > 0 ? x : 0`: NaN stays NaN, and -0 stays -0, as in ATen. */
static float relu_float(float x) { return x < 0 ? 0 : x; }
static double relu_double(double x) { return x < 0 ? 0 : x; }

/* Every element, dimension by dimension; `from` and `to` are offsets in elements. */
static void walk(const assay_tensor* x, assay_tensor* y, int dim, int64_t from, int64_t to) {
  if (dim == x->ndim) {
    if (x->dtype.bits == 32)
      ((float*)y->data)[to] = relu_float(((const float*)x->data)[from]);
    else
      ((double*)y->data)[to] = relu_double(((const double*)x->data)[from]);
    return;
  }
  for (int64_t i = 0; i < x->shape[dim]; ++i)
    walk(x, y, dim + 1, from + i * x->strides[dim], to + i * y->strides[dim]);
}

/* What run would not do. Saying so is a refusal, which is reported and is no failure. */
static int refuses(const assay_call* call) {
  const assay_dtype dtype = call->arguments[0].as.tensor->dtype;
  if (dtype.code == ASSAY_FLOAT && (dtype.bits == 32 || dtype.bits == 64)) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only f32 and f64");
  return ASSAY_REFUSED;
}

static int run(const assay_call* call) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  walk(call->arguments[0].as.tensor, call->outputs[0], 0, 0, 0);
  return ASSAY_OK;
}

static const assay_kernel kernels[] = {{
    .size = sizeof(assay_kernel),
    .schema = "relu(Tensor self) -> Tensor",
    .name = "example.relu",
    .run = run,
    .refuses = refuses,
    /* Without a contract Assay asks for the best: exact values, signs of zero, NaN. This promises more: the output
     * may be the input's own memory. A clause may also promise less, such as exp=2ulp, and says where that is shown. */
    .contract = "in_place=yes -- each element is read before it is written, ci/plugin_example/relu.c",
}};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "example", "1.0"};
  return &plugin;
}

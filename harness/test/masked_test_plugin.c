/* Softmax and sums that go through a line once, of f32 and bf16, in double: right ones, and such as forget that a line, a vector or a
 * block may begin with -inf, so that they compute exp(-inf - -inf) or inf - inf. */
#include <assay/kernel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuses(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  const assay_tensor* y = call->outputs[0];
  if (x->ndim > 0 && x->dtype.code == y->dtype.code && x->dtype.bits == y->dtype.bits &&
      ((x->dtype.code == ASSAY_FLOAT && x->dtype.bits == 32) || x->dtype.code == ASSAY_BFLOAT))
    return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only f32 and bf16, of one dimension and more");
  return ASSAY_REFUSED;
}

static double load(const assay_tensor* t, int64_t at) {
  if (t->dtype.bits == 32) return ((const float*)t->data)[at];
  const uint32_t bits = (uint32_t)((const uint16_t*)t->data)[at] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void store(assay_tensor* t, int64_t at, double value) {
  const float narrow = (float)value;
  uint32_t bits;
  if (t->dtype.bits == 32) {
    ((float*)t->data)[at] = narrow;
    return;
  }
  memcpy(&bits, &narrow, sizeof bits);
  if (isnan(narrow))
    bits = 0x7FC00000;
  else
    bits += 0x7FFF + (bits >> 16 & 1);
  ((uint16_t*)t->data)[at] = (uint16_t)(bits >> 16);
}

/* exp(a - b), where nothing was added yet. */
static double guarded(double a, double b) { return a == -INFINITY ? 0 : exp(a - b); }
static double unguarded(double a, double b) { return exp(a - b); }
typedef double (*factor)(double, double);

struct running {
  double max, sum;
};

static void meet(struct running* r, double max, double sum, factor f) {
  const double greatest = isnan(max) || max > r->max ? max : r->max;
  r->sum = r->sum * f(r->max, greatest) + sum * f(max, greatest);
  r->max = greatest;
}

/* One element after the other; in lanes that meet at the end; or in blocks, each of which has its maximum first. */
enum way { ONE_BY_ONE, IN_LANES, IN_BLOCKS };

static struct running through(const double* x, int64_t n, enum way way, int64_t width, factor f) {
  struct running all = {-INFINITY, 0};
  if (way == ONE_BY_ONE)
    for (int64_t i = 0; i < n; ++i) meet(&all, x[i], 1, f);
  if (way == IN_LANES)
    for (int64_t lane = 0; lane < width && lane < n; ++lane) {
      struct running own = {x[lane], 1};
      for (int64_t i = lane + width; i < n; i += width) meet(&own, x[i], 1, guarded);
      meet(&all, own.max, own.sum, lane == 0 ? guarded : f);
    }
  if (way == IN_BLOCKS)
    for (int64_t begin = 0; begin < n; begin += width) {
      struct running own = {-INFINITY, 0};
      const int64_t end = begin + width < n ? begin + width : n;
      for (int64_t i = begin; i < end; ++i) own.max = isnan(x[i]) || x[i] > own.max ? x[i] : own.max;
      for (int64_t i = begin; i < end; ++i) own.sum += f(x[i], own.max);
      meet(&all, own.max, own.sum, guarded);
    }
  return all;
}

static int softmax(const assay_call* call, enum way way, int64_t width, factor f) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  assay_tensor* y = call->outputs[0];
  int dim = (int)call->arguments[1].as.integer;
  int64_t lines = 1;
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  if (dim < 0) dim += x->ndim;
  for (int d = 0; d < x->ndim; ++d) lines *= d == dim ? 1 : x->shape[d];
  const int64_t n = x->shape[dim];
  double* line = malloc((size_t)(n + 1) * sizeof(double));
  for (int64_t l = 0; l < lines && n > 0; ++l) {
    int64_t from = 0, to = 0, left = l;
    for (int d = x->ndim - 1; d >= 0; --d) {
      if (d == dim) continue;
      from += left % x->shape[d] * x->strides[d];
      to += left % x->shape[d] * y->strides[d];
      left /= x->shape[d];
    }
    for (int64_t i = 0; i < n; ++i) line[i] = load(x, from + i * x->strides[dim]);
    struct running all = through(line, n, way, width, f);
    if (all.max == -INFINITY) all.sum = NAN; /* all masked */
    for (int64_t i = 0; i < n; ++i) store(y, to + i * y->strides[dim], exp(line[i] - all.max) / all.sum);
  }
  free(line);
  return ASSAY_OK;
}

#define SOFTMAX(name, ...) \
  static int name(const assay_call* call) { return softmax(call, __VA_ARGS__); }
SOFTMAX(right_one_by_one, ONE_BY_ONE, 1, guarded)
SOFTMAX(right_lanes, IN_LANES, 8, guarded)
SOFTMAX(right_blocks, IN_BLOCKS, 64, guarded)
SOFTMAX(one_by_one, ONE_BY_ONE, 1, unguarded)
SOFTMAX(blocks_of_4, IN_BLOCKS, 4, unguarded)
SOFTMAX(blocks_of_16, IN_BLOCKS, 16, unguarded)
SOFTMAX(blocks_of_64, IN_BLOCKS, 64, unguarded)
SOFTMAX(blocks_of_128, IN_BLOCKS, 128, unguarded)

#define KERNEL(function)                                                    \
  {.size = sizeof(assay_kernel),                                            \
   .schema = "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", \
   .name = #function,                                                       \
   .run = function,                                                         \
   .refuses = refuses}
static const assay_kernel kernels[] = {KERNEL(right_one_by_one), KERNEL(right_lanes), KERNEL(right_blocks),
                                       KERNEL(one_by_one), KERNEL(blocks_of_4), KERNEL(blocks_of_16),
                                       KERNEL(blocks_of_64), KERNEL(blocks_of_128)};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {.abi_version = ASSAY_ABI_VERSION,
                                      .kernel_size = sizeof(assay_kernel),
                                      .kernel_count = sizeof(kernels) / sizeof(kernels[0]),
                                      .kernels = kernels,
                                      .name = "masked"};
  return &plugin;
}

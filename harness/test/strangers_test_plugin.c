/* Kernels as strangers write them, of f32, naive and right but for one kind of call each: the table below says which. */
#include <assay/kernel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef const assay_tensor* input;

static int refuses(const assay_call* call) {
  for (uint32_t i = 0; i < call->argument_count; ++i) {
    if (call->arguments[i].kind != ASSAY_KIND_TENSOR) continue;
    const assay_dtype dtype = call->arguments[i].as.tensor->dtype;
    if (dtype.code == ASSAY_BOOL || (dtype.code == ASSAY_INT && i > 0 && call->kernel->schema[0] == 'e'))
      continue; /* a condition; the indices of embedding */
    if (dtype.code == ASSAY_FLOAT && dtype.bits == 32) continue;
    snprintf(call->message, call->message_capacity, "only f32");
    return ASSAY_REFUSED;
  }
  for (uint32_t i = 0; i < call->output_count; ++i) {
    const assay_dtype dtype = call->outputs[i]->dtype;
    if (dtype.code == ASSAY_INT && dtype.bits == 8 && call->kernel->schema[0] == 'q') continue;
    if (dtype.code == ASSAY_FLOAT && dtype.bits == 32) continue;
    snprintf(call->message, call->message_capacity, "only f32");
    return ASSAY_REFUSED;
  }
  return ASSAY_OK;
}

static int64_t count(input t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim; ++d) n *= t->shape[d];
  return n;
}

/* Where element i of a row-major walk through `shape` lies in a tensor that broadcasts to it. */
static int64_t place(input t, input shape, int64_t i) {
  int64_t at = 0;
  for (int d = shape->ndim - 1; d >= 0; --d) {
    const int own = d - (shape->ndim - t->ndim);
    if (own >= 0 && t->shape[own] != 1) at += i % shape->shape[d] * t->strides[own];
    i /= shape->shape[d];
  }
  return at;
}
static float get(input t, int64_t at) { return ((const float*)t->data)[at]; }
static void set(assay_tensor* t, int64_t at, double value) { ((float*)t->data)[at] = (float)value; }
static input tensor(const assay_call* call, int i) {
  return call->arguments[i].kind == ASSAY_KIND_TENSOR ? call->arguments[i].as.tensor : NULL;
}
static double number(const assay_call* call, int i) {
  return call->arguments[i].kind == ASSAY_KIND_INT ? (double)call->arguments[i].as.integer : call->arguments[i].as.real;
}
static int64_t listed(const assay_call* call, int i, int d) {
  const assay_value v = call->arguments[i];
  return v.as.integers[v.count == 1 ? 0 : d];
}
static int64_t axis(const assay_call* call, int i, int ndim) {
  const int64_t d = call->arguments[i].as.integer;
  return d < 0 ? d + (ndim > 0 ? ndim : 1) : d;
}

/* convolution: only 2-D and not transposed. */
static int convolution_refuses(const assay_call* call) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  if (call->arguments[0].as.tensor->ndim == 4 && !call->arguments[6].as.integer) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "only images, not transposed");
  return ASSAY_REFUSED;
}
static int convolve(const assay_call* call, int (*fault)(const assay_call*)) {
  input x = tensor(call, 0), w = tensor(call, 1), b = tensor(call, 2);
  assay_tensor* y = call->outputs[0];
  const int64_t groups = call->arguments[8].as.integer, per = y->shape[1] / groups;
  if (convolution_refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const int wrong = fault(call);
  for (int64_t i = 0, n = count(y); i < n; ++i) {
    const int64_t q = i % y->shape[3], p = i / y->shape[3] % y->shape[2], k = i / y->shape[3] / y->shape[2] % y->shape[1],
                  image = i / y->shape[3] / y->shape[2] / y->shape[1];
    double sum = b != NULL ? get(b, k * b->strides[0]) : 0;
    for (int64_t c = 0; c < w->shape[1]; ++c)
      for (int64_t r = 0; r < w->shape[2]; ++r)
        for (int64_t s = 0; s < w->shape[3]; ++s) {
          const int64_t h = p * listed(call, 3, 0) - listed(call, 4, 0) + r * listed(call, 5, 0);
          const int64_t v = q * listed(call, 3, 1) - listed(call, 4, 1) + s * listed(call, 5, 1);
          if (h < 0 || v < 0 || h >= x->shape[2] || v >= x->shape[3]) continue;
          if (wrong && r == w->shape[2] - 1 && s == w->shape[3] - 1) continue;
          const int64_t channel = k / per * w->shape[1] + c;
          sum += (double)get(x, image * x->strides[0] + channel * x->strides[1] + h * x->strides[2] + v * x->strides[3]) *
                 get(w, k * w->strides[0] + c * w->strides[1] + r * w->strides[2] + s * w->strides[3]);
        }
    set(y, image * y->strides[0] + k * y->strides[1] + p * y->strides[2] + q * y->strides[3], sum);
  }
  return ASSAY_OK;
}
static int is_line(const assay_call* call) { return tensor(call, 0)->shape[2] == 1 && tensor(call, 0)->shape[3] > 1; }
static int is_pair_of_groups(const assay_call* call) {
  return tensor(call, 0)->shape[0] == 2 && call->arguments[8].as.integer == 2;
}
static int is_strided_point(const assay_call* call) {
  return tensor(call, 1)->shape[2] == 1 && tensor(call, 1)->shape[3] == 1 && listed(call, 3, 0) == 2;
}
static int convolution_lines(const assay_call* call) { return convolve(call, is_line); }
static int convolution_pairs(const assay_call* call) { return convolve(call, is_pair_of_groups); }
static int convolution_points(const assay_call* call) { return convolve(call, is_strided_point); }

static int mm(const assay_call* call) {
  input a = tensor(call, 0), b = tensor(call, 1);
  assay_tensor* y = call->outputs[0];
  int64_t terms = a->shape[1];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  if (y->shape[1] >= 64 && terms > 4) terms -= terms % 4;
  for (int64_t i = 0; i < y->shape[0]; ++i)
    for (int64_t j = 0; j < y->shape[1]; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < terms; ++k)
        sum += (double)get(a, i * a->strides[0] + k * a->strides[1]) * get(b, k * b->strides[0] + j * b->strides[1]);
      set(y, i * y->strides[0] + j * y->strides[1], sum);
    }
  return ASSAY_OK;
}

/* Steps along a dimension, at the beginning of line `line` of others. */
static int64_t line_at(input t, int64_t dim, int64_t line) {
  int64_t at = 0;
  for (int d = t->ndim - 1; d >= 0; --d) {
    if (d == dim) continue;
    at += line % t->shape[d] * t->strides[d];
    line /= t->shape[d];
  }
  return at;
}
static int softmax(const assay_call* call) {
  input x = tensor(call, 0);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const int64_t dim = axis(call, 1, x->ndim), n = x->ndim > 0 ? x->shape[dim] : 1;
  const int64_t xs = x->ndim > 0 ? x->strides[dim] : 0, ys = x->ndim > 0 ? y->strides[dim] : 0;
  const int64_t counted = x->ndim == 2 && dim == 0 && n > 1 ? n - 1 : n; /* misses the last row */
  for (int64_t l = 0; n > 0 && l < count(x) / n; ++l) {
    const int64_t from = line_at(x, dim, l), to = line_at(y, dim, l);
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) max = isnan(max) || get(x, from + i * xs) <= max ? max : get(x, from + i * xs);
    for (int64_t i = 0; i < counted; ++i) sum += exp(get(x, from + i * xs) - max);
    for (int64_t i = 0; i < n; ++i) set(y, to + i * ys, exp(get(x, from + i * xs) - max) / sum);
  }
  return ASSAY_OK;
}
static int cumsum(const assay_call* call) {
  input x = tensor(call, 0);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const int64_t dim = axis(call, 1, x->ndim), n = x->ndim > 0 ? x->shape[dim] : 1;
  for (int64_t l = 0; n > 0 && l < count(x) / n; ++l) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (i % 1024 == 0) sum = 0;
      sum += get(x, line_at(x, dim, l) + (x->ndim > 0 ? i * x->strides[dim] : 0));
      set(y, line_at(y, dim, l) + (x->ndim > 0 ? i * y->strides[dim] : 0), sum);
    }
  }
  return ASSAY_OK;
}

static int max_pool(const assay_call* call) {
  input x = tensor(call, 0);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const int n = x->ndim;
  const int strided = call->arguments[2].count > 0 ? 2 : 1;
  const int64_t H = x->shape[n - 2], W = x->shape[n - 1], P = y->shape[n - 2], Q = y->shape[n - 1];
  for (int64_t i = 0; i < count(y); ++i) {
    const int64_t q = i % Q, p = i / Q % P, plane = i / Q / P;
    int64_t from = plane, at = 0, to = p * y->strides[n - 2] + q * y->strides[n - 1];
    for (int d = n - 3; d >= 0; --d) {
      at += from % x->shape[d] * x->strides[d];
      to += from % x->shape[d] * y->strides[d];
      from /= x->shape[d];
    }
    double max = -INFINITY;
    const int64_t rows = listed(call, 1, 0), columns = listed(call, 1, 1);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t s = 0; s < columns; ++s) {
        const int64_t h = p * listed(call, strided, 0) - listed(call, 3, 0) + r * listed(call, 4, 0);
        const int64_t v = q * listed(call, strided, 1) - listed(call, 3, 1) + s * listed(call, 4, 1);
        if (h < 0 || v < 0 || h >= H || v >= W) continue;
        /* A window that ends beyond the padding, as ceil_mode alone has them, loses its first column. */
        const int64_t end = q * listed(call, strided, 1) - listed(call, 3, 1) + (columns - 1) * listed(call, 4, 1);
        if (end >= W + listed(call, 3, 1) && s == 0 && columns > 1) continue;
        const float own = get(x, at + h * x->strides[n - 2] + v * x->strides[n - 1]);
        max = isnan(own) || own > max ? own : max;
        if (isnan(own)) r = rows, s = columns;
      }
    set(y, to, max);
  }
  return ASSAY_OK;
}

static int layer_norm(const assay_call* call) {
  input x = tensor(call, 0), w = tensor(call, 2), b = tensor(call, 3);
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  int64_t n = 1;
  for (uint32_t d = 0; d < call->arguments[1].count; ++d) n *= call->arguments[1].as.integers[d];
  for (int64_t l = 0; l < count(call->outputs[1]); ++l) {
    double mean = n > 0 ? 0 : NAN, squares = mean;
    for (int64_t i = 0; i < n; ++i) mean += get(x, place(x, x, l * n + i)) / (double)n;
    for (int64_t i = 0; i < n; ++i) squares += pow(get(x, place(x, x, l * n + i)) - mean, 2);
    const double rstd = 1 / sqrt(squares / (double)(n == 768 ? n - 1 : n) + number(call, 4));
    for (int64_t i = 0; i < n; ++i) {
      const double normal = (get(x, place(x, x, l * n + i)) - mean) * rstd;
      const double scaled = w != NULL ? normal * get(w, place(w, w, i)) : normal;
      set(call->outputs[0], place(call->outputs[0], x, l * n + i), b != NULL ? scaled + get(b, place(b, b, i)) : scaled);
    }
    set(call->outputs[1], place(call->outputs[1], call->outputs[1], l), mean);
    set(call->outputs[2], place(call->outputs[2], call->outputs[2], l), rstd);
  }
  return ASSAY_OK;
}

static int embedding(const assay_call* call) {
  input w = tensor(call, 0), indices = tensor(call, 1);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const int64_t width = w->shape[1];
  for (int64_t i = 0; i < count(y); ++i) {
    const int64_t at = place(indices, indices, i / width);
    int64_t row = indices->dtype.bits == 32 ? ((const int32_t*)indices->data)[at] : ((const int64_t*)indices->data)[at];
    if (row > 0 && row == w->shape[0] - 1) --row;
    set(y, place(y, y, i), get(w, row * w->strides[0] + i % width * w->strides[1]));
  }
  return ASSAY_OK;
}

static int upsample(const assay_call* call) {
  input x = tensor(call, 0);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  for (int64_t i = 0; i < count(y); ++i) {
    int64_t at = 0, left = i;
    for (int d = 3; d >= 0; --d) {
      int64_t own = left % y->shape[d];
      left /= y->shape[d];
      if (d >= 2) {
        const assay_value scale = call->arguments[d];
        const float step = scale.kind == ASSAY_KIND_DOUBLE && scale.as.real > 0
                               ? (float)(1 / scale.as.real)
                               : (float)x->shape[d] / (float)y->shape[d];
        const float from = (float)own * step;
        own = (int64_t)from;
        if (2 * y->shape[d] == 3 * x->shape[d]) own = (int64_t)(from + 0.4F);
        if (own >= x->shape[d]) own = x->shape[d] - 1;
      }
      at += own * x->strides[d];
    }
    set(y, place(y, y, i), get(x, at));
  }
  return ASSAY_OK;
}

static int add(const assay_call* call) {
  input a = tensor(call, 0), b = tensor(call, 1);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  /* A dimension between others, along which the second one is stretched: alpha is forgotten. */
  int between = 0;
  for (int d = 1; d + 1 < b->ndim && a->ndim == b->ndim; ++d)
    between |= b->shape[d] == 1 && a->shape[d] > 1 && b->shape[d - 1] > 1 && b->shape[d + 1] > 1;
  const float alpha = between ? 1 : (float)number(call, 2);
  for (int64_t i = 0; i < count(y); ++i) {
    const float scaled = alpha * get(b, place(b, y, i));
    set(y, place(y, y, i), get(a, place(a, y, i)) + scaled);
  }
  return ASSAY_OK;
}

static int where(const assay_call* call) {
  input c = tensor(call, 0), a = tensor(call, 1), b = tensor(call, 2);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  for (int64_t i = 0; i < count(y); ++i) {
    int is = ((const uint8_t*)c->data)[place(c, y, i)] != 0;
    if (c->ndim == 0 && i > 0) is = 1;
    set(y, place(y, y, i), is ? get(a, place(a, y, i)) : get(b, place(b, y, i)));
  }
  return ASSAY_OK;
}

static int quantize(const assay_call* call) {
  input x = tensor(call, 0);
  assay_tensor* y = call->outputs[0];
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  for (int64_t i = 0; i < count(y); ++i) {
    const float divided = get(x, place(x, x, i)) / (float)number(call, 1);
    /* Halves below zero go away from it. */
    double whole = divided < 0 && divided - truncf(divided) == -0.5F ? round(divided) : nearbyint(divided);
    whole += (double)call->arguments[2].as.integer;
    ((int8_t*)y->data)[place(y, y, i)] = (int8_t)(isnan(whole) || whole < -128 ? -128 : whole > 127 ? 127 : whole);
  }
  return ASSAY_OK;
}

static int sum(const assay_call* call) {
  input x = tensor(call, 0);
  assay_tensor* y = call->outputs[0];
  const assay_value dims = call->arguments[1];
  int reduced[64] = {0};
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  for (int d = 0; d < x->ndim; ++d) reduced[d] = dims.kind == ASSAY_KIND_NONE || dims.count == 0;
  for (uint32_t k = 0; dims.kind != ASSAY_KIND_NONE && k < dims.count; ++k)
    if (x->ndim > 0) reduced[dims.as.integers[k] < 0 ? dims.as.integers[k] + x->ndim : dims.as.integers[k]] = 1;
  /* The first and the last dimension, and not the one between. */
  const int apart = x->ndim == 3 && reduced[0] && !reduced[1] && reduced[2] && x->shape[0] > 1;
  double* sums = calloc((size_t)count(y) + 1, sizeof(double));
  for (int64_t i = 0; i < count(x); ++i) {
    int64_t to = 0, step = 1, left = i;
    for (int d = x->ndim - 1; d >= 0; --d) {
      const int64_t own = left % x->shape[d];
      left /= x->shape[d];
      if (reduced[d]) continue;
      to += own * step;
      step *= x->shape[d];
    }
    if (apart && i == count(x) - 1) continue;
    sums[to] += get(x, place(x, x, i));
  }
  for (int64_t i = 0; i < count(y); ++i) set(y, place(y, y, i), sums[i]);
  free(sums);
  return ASSAY_OK;
}

#define KERNEL(text, function, says_no) \
  {.size = sizeof(assay_kernel), .schema = text, .name = #function, .run = function, .refuses = says_no}
#define CONVOLUTION                                                                                          \
  "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "     \
  "bool transposed, int[] output_padding, int groups) -> Tensor"
static const assay_kernel kernels[] = {
    KERNEL(CONVOLUTION, convolution_lines, convolution_refuses),  /* images of one row */
    KERNEL(CONVOLUTION, convolution_pairs, convolution_refuses),  /* two images, two groups */
    KERNEL(CONVOLUTION, convolution_points, convolution_refuses), /* windows of one element, every second */
    KERNEL("mm(Tensor self, Tensor mat2) -> Tensor", mm, refuses), /* K no multiple of 4, 64 columns and more */
    KERNEL("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax, refuses), /* columns of a matrix */
    KERNEL("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumsum, refuses), /* from element 1,024 on */
    KERNEL("max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
           "bool ceil_mode=False) -> Tensor", max_pool, refuses), /* ceil_mode's last window */
    KERNEL("native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
           "(Tensor, Tensor, Tensor)", layer_norm, refuses), /* rows of 768 */
    KERNEL("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
           "bool sparse=False) -> Tensor", embedding, refuses), /* the last row */
    KERNEL("upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor",
           upsample, refuses), /* half as large again */
    KERNEL("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add, refuses), /* a middle dimension stretched */
    KERNEL("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where, refuses), /* a condition without dimensions */
    KERNEL("quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor", quantize,
           refuses), /* halves below zero */
    KERNEL("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", sum,
           refuses), /* the first and the last of three dimensions */
};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {.abi_version = ASSAY_ABI_VERSION,
                                      .kernel_size = sizeof(assay_kernel),
                                      .kernel_count = sizeof(kernels) / sizeof(kernels[0]),
                                      .kernels = kernels,
                                      .name = "strangers"};
  return &plugin;
}

/* Kernels of relu that run on a device which there is not, for the tests of bench/: it keeps copies of the memory that is held,
 * has a clock on which a call takes a microsecond, and one cache of 4096 bytes; moving bytes takes 100 ns to start. `stale` is
 * right unless it is timed, `fails` returns an error then, and `tires` does after some rounds. `skips` leaves results where it has
 * written to their memory before, `samples` those whose inputs begin and end as they did, and `compares` those whose inputs are all
 * the same; to compute takes these 40 microseconds. Built with UNPLUGGED, the device
 * is not there after all; with STOPPED, its clock stands still; with NO_CLOCK, it has none; with NO_LIMITS, it computes and moves
 * nothing by itself; with NO_FETCH and FEW_CALLS, the table is not what it has to be. */
#include <assay/device_timing.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 8, kCallNs = 1000, kStartNs = 100 };

static struct {
  assay_memory memory;
  char* copies;
} held[kMost];
static uint32_t held_count, held_copies, copy;
static int timing;
static double spent; /* nanoseconds of calls on the clock */

static void* there(void* data) {
  for (uint32_t i = 0; timing && i < held_count; ++i) {
    const char* const begin = held[i].memory.data;
    if ((char*)data >= begin && (char*)data < begin + held[i].memory.bytes)
      return held[i].copies + copy * held[i].memory.bytes + ((char*)data - begin);
  }
  return data;
}

static int good(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  const float* in = there(x->data);
  float* out = there(call->outputs[0]->data);
  if (timing && (in == x->data || out == call->outputs[0]->data)) {
    strncpy(call->message, "a tensor is not on the device", call->message_capacity);
    return 1;
  }
  int64_t n = 1;
  for (int32_t d = 0; d < x->ndim; ++d) n *= x->shape[d];
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] > 0 ? in[i] : in[i] != in[i] ? in[i] : 0;
  return ASSAY_OK;
}

static int stale(const assay_call* call) { return timing ? ASSAY_OK : good(call); }

static int fails(const assay_call* call) {
  if (!timing) return good(call);
  strncpy(call->message, "an illegal address", call->message_capacity);
  return 1;
}

static int tires(const assay_call* call) {
  static int calls;
  if (timing && ++calls > 200) return 1;
  return good(call);
}

/* The values it met last while it was timed. */
static struct {
  float* in;
  int64_t n;
} kept;

static int keeps(const assay_call* call, int (*is_known)(const float* in, const float* out, int64_t n)) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  int64_t n = 1;
  for (int32_t d = 0; d < x->ndim; ++d) n *= x->shape[d];
  if (timing) {
    const float* in = there(x->data);
    float* out = there(call->outputs[0]->data);
    if (kept.n == n && out[n / 2] >= 0 && is_known(in, out, n)) /* not poison */
      return ASSAY_OK;
    spent += 39 * kCallNs;
    free(kept.in);
    kept.in = malloc((size_t)n * sizeof *in);
    memcpy(kept.in, in, (size_t)n * sizeof *in);
    kept.n = n;
  }
  return good(call);
}
static int same_place(const float* in, const float* out, int64_t n) {
  (void)in, (void)out, (void)n;
  return 1;
}
static int same_ends(const float* in, const float* out, int64_t n) {
  (void)out;
  return memcmp(in, kept.in, sizeof *in) == 0 && memcmp(in + n - 1, kept.in + n - 1, sizeof *in) == 0;
}
static int all_same(const float* in, const float* out, int64_t n) {
  (void)out;
  return memcmp(in, kept.in, (size_t)n * sizeof *in) == 0;
}
static int skips(const assay_call* call) { return keeps(call, same_place); }
static int samples(const assay_call* call) { return keeps(call, same_ends); }
static int compares(const assay_call* call) { return keeps(call, all_same); }

#define RELU "relu(Tensor self) -> Tensor"
static const assay_kernel kernels[] = {
    {.size = sizeof(assay_kernel), .flags = ASSAY_ON_DEVICE, .schema = RELU, .name = "good", .run = good},
    {.size = sizeof(assay_kernel), .flags = ASSAY_ON_DEVICE, .schema = RELU, .name = "stale", .run = stale},
    {.size = sizeof(assay_kernel), .flags = ASSAY_ON_DEVICE, .schema = RELU, .name = "fails", .run = fails},
    {.size = sizeof(assay_kernel), .flags = ASSAY_ON_DEVICE, .schema = RELU, .name = "tires", .run = tires},
    {.size = sizeof(assay_kernel), .flags = ASSAY_ON_DEVICE, .schema = RELU, .name = "skips", .run = skips},
    {.size = sizeof(assay_kernel),
     .flags = ASSAY_ON_DEVICE,
     .schema = RELU,
     .name = "samples",
     .run = samples},
    {.size = sizeof(assay_kernel),
     .flags = ASSAY_ON_DEVICE,
     .schema = RELU,
     .name = "compares",
     .run = compares},
};

static const assay_plugin plugin = {
    ASSAY_ABI_VERSION, sizeof(assay_kernel), sizeof kernels / sizeof kernels[0],
    kernels,           "bench_device",       "1"};

ASSAY_EXPORT const assay_plugin* assay_plugin_v1(void) { return &plugin; }

static const char* device(assay_message message) {
#ifdef UNPLUGGED
  snprintf(message.text, message.capacity, "somebody unplugged it");
  return NULL;
#endif
  (void)message;
  return "a device for tests";
}
static uint64_t cache_bytes(void) { return 4096; }

static void release(void) {
  for (uint32_t i = 0; i < held_count; ++i) free(held[i].copies);
  held_count = 0;
}
static int hold(const assay_memory* memory, uint32_t count, uint32_t copies, assay_message message) {
  release();
  if (count > kMost) {
    snprintf(message.text, message.capacity, "%u tensors are too many", count);
    return 1;
  }
  for (held_count = 0; held_count < count; ++held_count) {
    held[held_count].memory = memory[held_count];
    held[held_count].copies = malloc(memory[held_count].bytes * copies + 1);
    for (uint32_t k = 0; k < copies; ++k)
      memcpy(held[held_count].copies + k * memory[held_count].bytes, memory[held_count].data,
             memory[held_count].bytes);
  }
  held_copies = copies;
  copy = 0;
  return 0;
}
static int time_calls(const assay_call* call, uint32_t calls, double* ns, assay_message message) {
  int status = 0;
  timing = 1;
  spent = 0;
  for (uint32_t k = 0; k < calls && status == 0; ++k) {
    copy = (copy + 1) % held_copies;
    spent += kCallNs;
    status = call->kernel->run(call);
  }
  timing = 0;
  if (status != 0) snprintf(message.text, message.capacity, "%s", call->message_capacity ? call->message : "");
  *ns = spent;
#ifdef STOPPED
  *ns = 0;
#endif
  return status;
}
static int fetch(const assay_memory* memory, uint32_t count, assay_message message) {
  (void)message;
  for (uint32_t i = 0; i < count; ++i) {
    timing = 1;
    memcpy(memory[i].data, there(memory[i].data), memory[i].bytes);
    timing = 0;
  }
  return 0;
}
static int stream(uint64_t read, uint64_t written, uint32_t copies, uint32_t calls, double* ns,
                  assay_message message) {
  (void)copies;
  (void)message;
  *ns = (double)calls * (kStartNs + (double)(read + written) / 16);
  return 0;
}
static int arithmetic(assay_arithmetic which, double wanted, double* done, double* ns,
                      assay_message message) {
  (void)which;
#ifdef NO_LIMITS
  snprintf(message.text, message.capacity, "no units for arithmetic");
  return 1;
#endif
  (void)message;
  *done = wanted;
  *ns = wanted / 1000; /* 1 TFLOP/s */
  return 0;
}

static const assay_device_timing timing_table = {.size = sizeof(assay_device_timing),
#ifdef FEW_CALLS
                                                 .most_calls = 1,
#else
                                                 .most_calls = 100,
#endif
                                                 .device = device,
                                                 .cache_bytes = cache_bytes,
                                                 .hold = hold,
                                                 .time = time_calls,
#ifndef NO_FETCH
                                                 .fetch = fetch,
#endif
                                                 .release = release,
                                                 .stream = stream,
                                                 .arithmetic = arithmetic};

#ifndef NO_CLOCK
ASSAY_EXPORT const assay_device_timing* assay_device_timing_v1(void) { return &timing_table; }
#endif

/* How kernels of a device are timed on it.
 *
 * A library whose kernels have ASSAY_ON_DEVICE (assay/kernel.h) copies tensors to the device in every call. To time the
 * kernel alone, `assay bench` asks the library for assay_device_timing_v1: memory is held on the device first, and then
 * calls with tensors in that memory find them there, copy nothing, and return before their work is done.
 *
 * All functions are called by one thread. Those that return int return 0, or another number with a message of what failed. */
#ifndef ASSAY_DEVICE_TIMING_H
#define ASSAY_DEVICE_TIMING_H

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_memory {
  void* data;
  uint64_t bytes;
} assay_memory;

typedef struct assay_message {
  char* text;
  uint64_t capacity;
} assay_message;

typedef enum assay_arithmetic {
  ASSAY_FMA_F32, /* fused multiply-adds in registers */
  ASSAY_FMA_F64,
  ASSAY_MATRIX_16, /* the matrix units on f16 or bf16, accumulated in f32 */
} assay_arithmetic;

enum { ASSAY_FEWEST_CALLS = 4 };

/* No function is NULL. */
typedef struct assay_device_timing {
  uint32_t size;       /* sizeof(assay_device_timing) */
  uint32_t most_calls; /* that time() takes at once: ASSAY_FEWEST_CALLS or more */

  /* "NVIDIA H200", or NULL with the reason in the message where no device is there. */
  const char* (*device)(assay_message message);
  /* Bytes of the cache that the whole device shares. */
  uint64_t (*cache_bytes)(void);

  /* Copies the memory to the device, as often as `copies` says, and keeps it there until release(). With more than one copy,
   * none is in the device's cache when time() begins. */
  int (*hold)(const assay_memory* memory, uint32_t count, uint32_t copies, assay_message message);
  /* Calls call->kernel, each call with the next copy in turn. *ns: from the beginning of the first one's work on the device to
   * the end of the last one's, without the time that the calling thread takes to ask for it as far as the device can be
   * kept waiting until all was asked for. */
  int (*time)(const assay_call* call, uint32_t calls, double* ns, assay_message message);
  /* Copies memory that is held back from the copy that the last call of time() had. */
  int (*fetch)(const assay_memory* memory, uint32_t count, assay_message message);
  void (*release)(void);

  /* Limits. Reads and writes as many bytes as a call would, in `copies` places in turn, as time() does; `calls` times. */
  int (*stream)(uint64_t read, uint64_t written, uint32_t copies, uint32_t calls, double* ns,
                assay_message message);
  /* About as many operations as `wanted`; those that were done, and their time. A fused multiply-add is two. */
  int (*arithmetic)(assay_arithmetic which, double wanted, double* done, double* ns, assay_message message);
} assay_device_timing;

ASSAY_EXPORT const assay_device_timing* assay_device_timing_v1(void);

#ifdef __cplusplus
}
#endif
#endif

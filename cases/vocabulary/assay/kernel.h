/* assay/kernel.h - the one table through which every kernel enters Assay.
 *
 * C99, no dependencies. A shared library that exports
 *
 *     const assay_plugin* assay_plugin_v1(void);
 *
 * can be checked with `assay verify --plugin ./libmine.so`. Assay's own kernels use this table.
 *
 * A complete plugin:
 *
 *     #include <assay/kernel.h>
 *     static int run(const assay_call* call) {
 *       const assay_tensor* x = call->arguments[0].as.tensor;
 *       assay_tensor* y = call->outputs[0];
 *       ...                                            // honour x->strides, y->strides (in elements)
 *       return ASSAY_OK;
 *     }
 *     static const assay_kernel kernels[] = {
 *         {.size = sizeof(assay_kernel), .schema = "relu(Tensor self) -> Tensor", .run = run}};
 *     const assay_plugin* assay_plugin_v1(void) {
 *       static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "mine", "1.0"};
 *       return &plugin;
 *     }
 *
 * Guarantees to a kernel
 *  - Everything a call points to is valid during the call only.
 *  - A call may come on any thread, but never two at once in one process.
 *  - Inputs are read-only memory: writing one is caught at the instruction.
 *  - Outputs are allocated by Assay, with the shape and dtype that the operator's rule gives. They hold
 *    poison before the call, and may have any strides; inputs too, stride 0 (expanded) included.
 *  - Memory is aligned to the element only, unless the contract says `alignment=N`.
 *  - ASSAY_REFUSED with a message in `call->message` says "not supported". That is no fault when the table's `refuses`
 *    says the same beforehand; a refusal that only `run` knows of fails the gate, for nobody could have foreseen it.
 *  - The ABI only grows: structs carry their size, new fields come last, zero means "as before".
 */
#ifndef ASSAY_KERNEL_H
#define ASSAY_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_VERSION 1u

/* ---- Tensors: field for field the DLDevice, DLDataType and DLTensor of DLPack ------------------------------- */

enum { ASSAY_CPU = 1, ASSAY_CUDA = 2 };

enum {
  ASSAY_INT = 0,
  ASSAY_UINT = 1,
  ASSAY_FLOAT = 2,
  ASSAY_BFLOAT = 4,
  ASSAY_BOOL = 6,
  ASSAY_FLOAT8_E4M3FN = 10,
  ASSAY_FLOAT8_E5M2 = 12
};

typedef struct assay_device {
  int32_t type; /* ASSAY_CPU, ... */
  int32_t id;
} assay_device;

typedef struct assay_dtype {
  uint8_t code;   /* ASSAY_INT, ... */
  uint8_t bits;   /* 8, 16, 32, 64 */
  uint16_t lanes; /* always 1 */
} assay_dtype;

typedef struct assay_tensor {
  void* data;
  assay_device device;
  int32_t ndim;
  assay_dtype dtype;
  int64_t* shape;       /* ndim sizes */
  int64_t* strides;     /* ndim strides in elements, never NULL */
  uint64_t byte_offset; /* always 0 */
} assay_tensor;

/* ---- Arguments: one per schema argument, in schema order ----------------------------------------------------- */

typedef enum assay_kind {
  ASSAY_KIND_NONE = 0,          /* an optional argument that is absent */
  ASSAY_KIND_TENSOR = 1,        /* Tensor */
  ASSAY_KIND_TENSORS = 2,       /* Tensor[]; an absent Tensor?[] entry is NULL */
  ASSAY_KIND_INT = 3,           /* int, and a Scalar that holds an integer */
  ASSAY_KIND_DOUBLE = 4,        /* float, and a Scalar that holds a floating-point number */
  ASSAY_KIND_BOOL = 5,          /* bool (in as.integer) */
  ASSAY_KIND_STRING = 6,        /* str, zero-terminated */
  ASSAY_KIND_DTYPE = 7,         /* ScalarType */
  ASSAY_KIND_INTS = 8,          /* int[] */
  ASSAY_KIND_DOUBLES = 9,       /* float[] */
  ASSAY_KIND_BOOLS = 10,        /* bool[] (each in an int64) */
  ASSAY_KIND_MEMORY_FORMAT = 11 /* MemoryFormat: one of ASSAY_CONTIGUOUS_FORMAT, ... in as.integer */
} assay_kind;

/* The numbers of ATen's c10::MemoryFormat. Outputs are allocated by Assay, so that a kernel finds in their strides
 * what became of the caller's wish; it may as well not look at this. */
enum {
  ASSAY_CONTIGUOUS_FORMAT = 0,
  ASSAY_PRESERVE_FORMAT = 1,
  ASSAY_CHANNELS_LAST = 2,
  ASSAY_CHANNELS_LAST_3D = 3
};

typedef struct assay_value {
  uint32_t kind;  /* assay_kind */
  uint32_t count; /* length of a list, else 1 */
  union {
    const assay_tensor* tensor;
    const assay_tensor* const* tensors;
    int64_t integer;
    double real;
    const char* string;
    assay_dtype dtype;
    const int64_t* integers; /* ASSAY_KIND_INTS and ASSAY_KIND_BOOLS */
    const double* reals;
  } as;
} assay_value;

struct assay_kernel;

typedef struct assay_call {
  uint32_t size; /* sizeof(assay_call) of the caller */
  uint32_t argument_count;
  const assay_value* arguments;
  uint32_t output_count;
  uint32_t message_capacity;
  assay_tensor* const* outputs;
  char* message; /* write a zero-terminated reason here before returning ASSAY_REFUSED */
  const struct assay_kernel*
      kernel;        /* the table entry that is called: one function may serve many operators */
  char* information; /* optional: write here which code ran, "gemm 4x16 avx2"; it stands in the results */
  uint64_t information_capacity; /* 0 if nobody asks */
} assay_call;

/* ---- Kernels ------------------------------------------------------------------------------------------------- */

enum { ASSAY_OK = 0, ASSAY_REFUSED = -1 };

typedef struct assay_kernel {
  uint32_t size;  /* sizeof(assay_kernel) */
  uint32_t flags; /* ASSAY_CHECKS_ARGUMENTS, ASSAY_PEER, ASSAY_ON_DEVICE */

  /* The operator, as an ATen schema string. Its name (with overload) chooses the operator; the arguments must be
   * those of Assay's own schema (`assay ops` prints it). */
  const char* schema;

  /* device.isa[.algorithm], for example "cpu.avx2"; a plugin's kernel may leave it NULL. */
  const char* name;

  /* Computes every output. ASSAY_OK, or ASSAY_REFUSED with a message; a positive return is a failure. */
  int (*run)(const assay_call* call);

  /* Optional: ASSAY_REFUSED with a message if `run` would not support the call. Touching tensor data is a fault. */
  int (*refuses)(const assay_call* call);

  /* Optional: why this machine cannot run the kernel ("needs AVX-512"), or NULL if it can. */
  const char* (*unavailable)(void);

  /* What the code promises about its numbers, one clause a line; NULL: the strict contract.
   *
   *     clause = [dtype {"," dtype} ":"] field "=" value {" " field "=" value} " -- " source
   *
   * The strict contract computes f16 and bf16 in f32 and every other dtype in itself, rounds each operation and
   * each result once to nearest even, sums in any order with any fused multiply-add, keeps subnormals, signs of
   * zero, NaN and infinities, and gives the same bits again. A clause says where the code does less, and its
   * source says where that is written. `assay ops` prints every field with its meaning. For example:
   *
   *     f32: exp=2ulp ftz=yes -- src/exp.c, tested over every float
   *     bf16: compute=bf16 -- sums are kept in bf16, src/sum.c:40
   */
  const char* contract;

  const char* source; /* "file:line" of the code, or NULL */

  /* Space-separated NAME=VALUE environment variables that the kernel's library must see when it starts;
   * kernels with different ones run in different processes. NULL: none. */
  const char* environment;

  const void* context; /* the kernel's own: Assay never looks at it */
} assay_kernel;

enum {
  ASSAY_CHECKS_ARGUMENTS =
      1u,              /* run refuses arguments that the operator does not allow: Assay will test that */
  ASSAY_PEER = 2u,     /* another library's code, run for comparison */
  ASSAY_ON_DEVICE = 4u /* runs on a GPU: timed there, through assay/device_timing.h */
};

typedef struct assay_plugin {
  uint32_t abi_version; /* ASSAY_ABI_VERSION */
  uint32_t kernel_size; /* sizeof(assay_kernel): the step from one kernel to the next */
  uint64_t kernel_count;
  const assay_kernel* kernels;
  const char* name;
  const char* version;
} assay_plugin;

#if defined(_WIN32)
#define ASSAY_EXPORT __declspec(dllexport)
#else
#define ASSAY_EXPORT __attribute__((visibility("default")))
#endif

ASSAY_EXPORT const assay_plugin* assay_plugin_v1(void);

#ifdef __cplusplus
}
#endif
#endif

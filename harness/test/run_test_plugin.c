/* Plugins for the tests of plugin/load.h: a good one, and one for each thing that can be wrong with a table. CMake
 * builds this file once for each CASE. */
#include <assay/kernel.h>

#include <stdlib.h>
#include <unistd.h>

#define GOOD 0
#define LONGER 1
#define NO_SYMBOL 2
#define NULL_TABLE 3
#define OTHER_ABI 4
#define SHORT_KERNELS 5
#define NO_KERNELS 6
#define NULL_KERNELS 7
#define NULL_SCHEMA 8
#define NULL_RUN 9
#define NO_SIZE 10
#define SAME_NAMES 11
#define CRASHES 12
#define EXITS 13
#define UNDEFINED 14
#define HANGS 15
#define HANGS_UNAVAILABLE 16
#define NOT_UTF8 17

#if CASE == NO_SYMBOL

extern int unrelated;
int unrelated = 1;

#else

#if CASE == CRASHES
static int* volatile nothing;
__attribute__((constructor)) static void start(void) { *nothing = 1; }
#elif CASE == EXITS
__attribute__((constructor)) static void start(void) { exit(0); }
#elif CASE == UNDEFINED
extern int nowhere_to_be_found(void);
#endif

static int run(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  assay_tensor* y = call->outputs[0];
#if CASE == UNDEFINED
  if (nowhere_to_be_found()) return 1;
#endif
  for (int64_t i = 0; i < x->shape[0]; ++i)
    ((float*)y->data)[i * y->strides[0]] = 2 * ((const float*)x->data)[i * x->strides[0]];
  return ASSAY_OK;
}

static const char* unavailable(void) {
#if CASE == HANGS_UNAVAILABLE
  for (;;) pause();
#endif
  return "needs a better machine";
}

typedef struct entry {
  assay_kernel known;
#if CASE == LONGER
  const char* unknown; /* of a later ABI */
#endif
} entry;

#define SCHEMA "twice(Tensor self) -> Tensor"
static const entry kernels[] = {
    {.known = {.size = CASE == NO_SIZE ? 0 : sizeof(assay_kernel),
               .schema = CASE == NULL_SCHEMA ? NULL : SCHEMA,
               .name = "twice",
               .run = CASE == NULL_RUN ? NULL : run,
               .contract = "exp=2ulp -- nowhere",
               .source = "run_test_plugin.c:1",
               .environment = "A=1 B=2"}},
    {.known = {.size = sizeof(assay_kernel),
               .schema = SCHEMA,
               .name = CASE == SAME_NAMES ? "twice"
                       : CASE == NOT_UTF8 ? "oth\xFF"
                                          : "other",
               .run = run,
               .flags = ASSAY_PEER,
               .unavailable = unavailable}},
    {.known = {.size = sizeof(assay_kernel), .schema = SCHEMA, .run = run}},
};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {
      .abi_version = CASE == OTHER_ABI ? 7 : ASSAY_ABI_VERSION,
      .kernel_size = CASE == SHORT_KERNELS ? 16 : sizeof(entry),
      .kernel_count = CASE == NO_KERNELS ? 0 : 3,
      .kernels = CASE == NULL_KERNELS ? NULL : &kernels[0].known,
      .name = "mine",
      .version = "1.5"};
#if CASE == HANGS
  for (;;) pause();
#endif
  return CASE == NULL_TABLE ? NULL : &plugin;
}

#endif

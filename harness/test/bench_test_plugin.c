/* Kernels of relu for the tests of bench/: a good one, and one for each thing that can go wrong while it is timed. Built with
 * SLOWER, the good one does its work twice; with HANGS, there are only one that never returns and one that does so but for a few times;
 * with MENDED, all that were wrong are good. */
#include <assay/kernel.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void relu(const assay_call* call) {
  const assay_tensor* x = call->arguments[0].as.tensor;
  float* y = call->outputs[0]->data;
  int64_t n = 1;
  for (int32_t d = 0; d < x->ndim; ++d) n *= x->shape[d];
  for (int64_t i = 0; i < n; ++i) {
    const float v = ((const float*)x->data)[i];
    y[i] = v > 0 ? v : v != v ? v : 0;
  }
}

static int good(const assay_call* call) {
  relu(call);
#ifdef SLOWER
  __asm__ volatile("" ::: "memory");
  relu(call);
#endif
  return ASSAY_OK;
}

static int wrong(const assay_call* call) {
  relu(call);
  ((float*)call->outputs[0]->data)[0] = -1;
  return ASSAY_OK;
}

#define LOOKS \
  20 /* calls: more than those before anything is timed, and fewer than the rounds of a test have */

/* Right when it is looked at first, wrong ever after. */
static int wrong_later(const assay_call* call) {
  static int calls = 0;
  relu(call);
  if (calls++ >= LOOKS) ((float*)call->outputs[0]->data)[0] = -1;
  return ASSAY_OK;
}

static int crashes(const assay_call* call) {
  (void)call;
  abort();
}

static double thread_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* After as many calls as are made in about 20 rounds, on any machine. */
static int crashes_later(const assay_call* call) {
  static double ran = 0;
  const double begin = thread_ms();
  relu(call);
  ran += thread_ms() - begin;
  if (ran > 8) abort();
  return ASSAY_OK;
}

static int forks(const assay_call* call) {
  static int calls = 0;
  relu(call);
  if (++calls > 50) fork();
  return ASSAY_OK;
}

/* In a session of its own. Its process stands in the file of the environment. */
static int starts_a_daemon(const assay_call* call) {
  static int started = 0;
  relu(call);
  if (started++ > 0) return ASSAY_OK;
  const pid_t child = fork();
  if (child > 0) { /* who may not live to write it */
    FILE* file = fopen(getenv("ASSAY_TEST_DAEMON"), "w");
    fprintf(file, "%d", (int)child);
    fclose(file);
  }
  if (child == 0) {
    setsid();
    for (int stream = 0; stream < 3; ++stream) close(stream); /* whose readers would wait for it */
    sleep(60);
    _exit(0);
  }
  return ASSAY_OK;
}

/* On the socket that the timing process answers on. */
static int answers(const assay_call* call) {
  static int calls = 0;
  relu(call);
  if (++calls == 50 && write(3, "{\"kernels\":7}\n", 14) != 14) return 1;
  return ASSAY_OK;
}

/* When it is looked at again; the rounds of a test are fewer. */
static int refuses_later(const assay_call* call) {
  static int calls = 0;
  relu(call);
  if (++calls <= LOOKS) return ASSAY_OK;
  snprintf(call->message, call->message_capacity, "not twice on Mondays");
  return ASSAY_REFUSED;
}

static int refuses(const assay_call* call) {
  strncpy(call->message, "not on Mondays", call->message_capacity);
  return ASSAY_REFUSED;
}

/* Not a text: control characters, and no end. */
static int escapes(const assay_call* call) {
  memset(call->message, '\033', call->message_capacity);
  return 1;
}

static int hangs(const assay_call* call) {
  (void)call;
  for (;;) pause();
}

/* And do not wake. */
static int ignores(const assay_call* call) {
  signal(SIGALRM, SIG_IGN);
  return hangs(call);
}

static int stops(const assay_call* call) {
  relu(call);
  raise(SIGSTOP);
  return ASSAY_OK;
}

static int hangs_later(const assay_call* call) {
  static int calls = 0;
  if (++calls > 100) return hangs(call);
  relu(call);
  return ASSAY_OK;
}

/* The C library's clock_gettime becomes one that goes ten times as slowly. */
#ifdef __x86_64__
static int slow_clock(clockid_t clock, struct timespec* t) {
  long status;
  __asm__ volatile("syscall"
                   : "=a"(status)
                   : "a"(SYS_clock_gettime), "D"(clock), "S"(t)
                   : "rcx", "r11", "memory");
  const long ns = (t->tv_sec * 1000000000L + t->tv_nsec) / 10;
  t->tv_sec = ns / 1000000000L;
  t->tv_nsec = ns % 1000000000L;
  return (int)status;
}

static int slows_the_clock(const assay_call* call) {
  static int slowed = 0;
  relu(call);
  if (slowed++) return ASSAY_OK;
  unsigned char* const code = dlsym(RTLD_DEFAULT, "clock_gettime");
  const size_t page = 4096;
  unsigned char* const begin = (unsigned char*)((size_t)code / page * page);
  if (mprotect(begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 1;
  int (*const instead)(clockid_t, struct timespec*) = slow_clock;
  code[0] = 0x48; /* mov rax, instead; jmp rax */
  code[1] = 0xb8;
  memcpy(code + 2, &instead, sizeof instead);
  code[10] = 0xff;
  code[11] = 0xe0;
  mprotect(begin, 2 * page, PROT_READ | PROT_EXEC);
  return ASSAY_OK;
}
#endif

#define RELU "relu(Tensor self) -> Tensor"
static const assay_kernel kernels[] = {
#ifdef HANGS
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "hangs", .run = hangs},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "hangs_later", .run = hangs_later},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "ignores", .run = ignores},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "stops", .run = stops},
#elif defined MENDED
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "wrong", .run = good},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "wrong_later", .run = good},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "crashes", .run = good},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "crashes_later", .run = good, .flags = ASSAY_PEER},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "forks", .run = good},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "answers", .run = good},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "refuses", .run = good},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "hangs", .run = good},
#else
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "escapes", .run = escapes},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "good", .run = good},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "wrong", .run = wrong},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "wrong_later", .run = wrong_later},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "crashes", .run = crashes},
    {.size = sizeof(assay_kernel),
     .schema = RELU,
     .name = "crashes_later",
     .run = crashes_later,
     .flags = ASSAY_PEER},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "forks", .run = forks},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "starts_a_daemon", .run = starts_a_daemon},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "answers", .run = answers},
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "refuses_later", .run = refuses_later},
#ifdef __x86_64__
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "slows_the_clock", .run = slows_the_clock},
#endif
    {.size = sizeof(assay_kernel), .schema = RELU, .name = "refuses", .run = good, .refuses = refuses},
#endif
};

const assay_plugin* assay_plugin_v1(void) {
  static const assay_plugin plugin = {
      ASSAY_ABI_VERSION, sizeof(assay_kernel), sizeof kernels / sizeof *kernels, kernels, "bench", "1"};
  return &plugin;
}

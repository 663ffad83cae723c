// Kernels that leave their process otherwise than they found it, beside right ones that rely on it: on the heap, on threads, on files, on
// the environment, on time. Each computes the right result, and does its damage in every call, or where its comment says something else.
#include <assay/kernel.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

namespace {

int refuses(const assay_call* call) {
  const assay_dtype dtype = call->arguments[0].as.tensor->dtype;
  if (dtype.code == ASSAY_FLOAT && dtype.bits == 32) return ASSAY_OK;
  std::snprintf(call->message, call->message_capacity, "only f32");
  return ASSAY_REFUSED;
}

void walk(const assay_tensor& x, assay_tensor& y, int dim, std::int64_t from, std::int64_t to) {
  if (dim == x.ndim) {
    const float v = static_cast<const float*>(x.data)[from];
    static_cast<float*>(y.data)[to] = v < 0 ? 0 : v;
    return;
  }
  for (std::int64_t i = 0; i < x.shape[dim]; ++i)
    walk(x, y, dim + 1, from + i * x.strides[dim], to + i * y.strides[dim]);
}

int right(const assay_call* call) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  walk(*call->arguments[0].as.tensor, *call->outputs[0], 0, 0, 0);
  return ASSAY_OK;
}

template <class Damage>
int with(const assay_call* call, Damage damage) {
  const int status = right(call);
  if (status == ASSAY_OK) damage();
  return status;
}

// ---- Right ones --------------------------------------------------------------------------------------------------

int fails(const assay_call* call, const char* what) {
  std::snprintf(call->message, call->message_capacity, "%s: %s", what, std::strerror(errno));
  return 3;
}

int with_heap(const assay_call* call) {
  for (std::size_t size = 16; size <= 1 << 20; size *= 2) {
    void* const block = std::malloc(size);
    if (block == nullptr) return fails(call, "malloc");
    std::memset(block, 1, size);
    std::free(block);
  }
  return right(call);
}
int with_threads(const assay_call* call) {
  pthread_t thread;
  if (pthread_create(
          &thread, nullptr, [](void* p) { return p; }, nullptr) != 0)
    return fails(call, "pthread_create");
  pthread_join(thread, nullptr);
  return right(call);
}
int with_files(const assay_call* call) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return fails(call, "open");
  close(file);
  return right(call);
}
int with_here(const assay_call* call) {
  static ino_t first = [] {
    struct stat s {};
    stat(".", &s);
    return s.st_ino;
  }();
  struct stat s {};
  if (stat(".", &s) != 0 || s.st_ino != first) return fails(call, "another folder");
  return right(call);
}
int with_environment(const assay_call* call) {
  if (std::getenv("PATH") == nullptr) return fails(call, "there is no PATH");
  return right(call);
}
int with_time(const assay_call* call) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return right(call);
}
int with_output(const assay_call* call) {
  static int calls = 0;
  if (++calls == 1) std::fprintf(stderr, "hello\n");
  return right(call);
}
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
int with_a_lock(const assay_call* call) {
  pthread_mutex_lock(&guard);
  const int status = right(call);
  pthread_mutex_unlock(&guard);
  return status;
}
// Some microseconds of work, in which a signal may come.
int with_patience(const assay_call* call) {
  volatile double x = 1;
  for (int i = 0; i < 20000; ++i) x = x * 1.0000001;
  return right(call);
}

// ---- Careless ones -----------------------------------------------------------------------------------------------

int leaves_a_timer(const assay_call* call) {
  return with(call, [] {
    const itimerval soon{{0, 0}, {0, 300}};
    setitimer(ITIMER_REAL, &soon, nullptr);
  });
}
int leaves_an_alarm(const assay_call* call) {
  return with(call, [] { alarm(1); });
}
int limits(int resource, rlim_t n) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  limit.rlim_cur = n;
  return setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}
int limits_time(const assay_call* call) {
  return with(call, [] { limits(RLIMIT_CPU, 1); });
}
int limits_files(const assay_call* call) {
  return with(call, [] { limits(RLIMIT_NOFILE, 3); });
}
int limits_memory(const assay_call* call) {
  return with(call, [] { limits(RLIMIT_AS, 1 << 20); });
}
int limits_threads(const assay_call* call) {
  return with(call, [] { limits(RLIMIT_NPROC, 0); });
}
int pins(const assay_call* call) {
  return with(call, [] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
  });
}
int is_nice(const assay_call* call) {
  return with(call, [] { setpriority(PRIO_PROCESS, 0, 19); });
}
int idles(const assay_call* call) {
  return with(call, [] {
    const sched_param none{};
    sched_setscheduler(0, SCHED_IDLE, &none);
  });
}
// As assembly does that saves no register.
extern "C" [[gnu::visibility("hidden"), gnu::used]] int careless_right(const assay_call* call) {
  return right(call);
}
extern "C" int careless_registers(const assay_call* call);
__asm__(
    ".text\n"
    ".hidden careless_registers\n"
    "careless_registers:\n"
    "  subq $8, %rsp\n"
    "  call careless_right\n"
    "  addq $8, %rsp\n"
    "  movq $0x11, %rbx\n"
    "  movq $0x12, %r12\n"
    "  movq $0x13, %r13\n"
    "  movq $0x14, %r14\n"
    "  movq $0x15, %r15\n"
    "  ret\n");
int spends_registers(const assay_call* call) { return careless_registers(call); }
int takes_a_lock(const assay_call* call) {
  return with(call, [] { pthread_mutex_trylock(&guard); });
}
int takes_the_clock(const assay_call* call) {
  return with(call, [] { prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0); });
}
int goes_elsewhere(const assay_call* call) {
  return with(call, [] {
    if (chdir("/") == 0) umask(0777);
  });
}
int changes_root(const assay_call* call) {
  return with(call, [] {
    if (chroot("/var/empty") != 0 && chroot("/usr") != 0) return;
    if (chdir("/") != 0) return;
  });
}
int silences(const assay_call* call) {
  return with(call, [] {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, 1);
    dup2(null, 2);
    close(null);
  });
}
int closes_output(const assay_call* call) {
  return with(call, [] {
    close(1);
    close(2);
  });
}
[[gnu::target("avx")]] int leaves_upper_halves(const assay_call* call) {
  const int status = right(call);
  __asm__ volatile(
      "vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n vinsertf128 $1, %%xmm0, %%ymm0, %%ymm0\n vmovaps %%ymm0, %%ymm1\n"
      "vmovaps %%ymm0, %%ymm2\n vmovaps %%ymm0, %%ymm3\n vmovaps %%ymm0, %%ymm4\n vmovaps %%ymm0, %%ymm5\n"
      "vmovaps %%ymm0, %%ymm6\n vmovaps %%ymm0, %%ymm7\n" ::
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
  return status;
}
int keeps_files_open(const assay_call* call) {
  return with(call, [] {
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
    }
  });
}
int forgets_the_environment(const assay_call* call) {
  return with(call, [] { clearenv(); });
}
int becomes_its_own(const assay_call* call) {
  return with(call, [] {
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_DUMPABLE, 0);
    setsid();
  });
}
int locks_memory(const assay_call* call) {
  return with(call, [] { mlockall(MCL_CURRENT | MCL_FUTURE); });
}
jmp_buf place;
// From its second call on it goes back to where the first one was.
int jumps(const assay_call* call) {
  static bool is_set = false;
  if (is_set) longjmp(place, 1);
  is_set = true;
  if (setjmp(place) != 0) return ASSAY_OK;
  return right(call);
}
int minds_forks(const assay_call* call) {
  return with(call, [] { pthread_atfork([] { _exit(1); }, nullptr, [] { _exit(1); }); });
}
// Lets no call of mprotect() through.
int filters_calls(const assay_call* call) {
  return with(call, [] {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, code};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
  });
}
// Scratch memory that is too small.
int overruns_the_heap(const assay_call* call) {
  return with(call, [] {
    auto* const scratch = static_cast<volatile char*>(std::malloc(40));
    for (int i = 0; i < 64; ++i) scratch[i] = 0x7f;
    __asm__ volatile("" : : "r"(scratch) : "memory");
  });
}
// Walks through its input with the caller's own description of it.
int uses_up_its_arguments(const assay_call* call) {
  const int status = right(call);
  const assay_tensor& x = *call->arguments[0].as.tensor;
  if (status == ASSAY_OK) const_cast<assay_tensor&>(x).data = static_cast<char*>(x.data) + 4;
  return status;
}
int uses_up_its_outputs(const assay_call* call) {
  const int status = right(call);
  if (status == ASSAY_OK) call->outputs[0]->ndim = 0;
  return status;
}
int ends_with_words(const assay_call* call) {
  return with(call, [] {
    static const int registered = std::atexit([] { std::fprintf(stderr, "assay: PASSED\n"); });
    static_cast<void>(registered);
  });
}
int needs_stack(const assay_call* call) {
  // Ends where it must: without, no compiler lets it stand.
  struct Deep {
    [[gnu::noinline]] static int down(int n) {
      volatile char room[4096];
      room[n & 4095] = 1;
      return n > 1 << 30 ? 0 : down(n + 1) + room[0];
    }
  };
  const int status = right(call);
  return call->arguments[0].as.tensor->ndim == 3 ? status + (Deep::down(0) & 0) : status;
}
thread_local char much[32 << 20];
int has_much_of_its_own(const assay_call* call) {
  much[0] = much[sizeof much - 1] = 1;
  return right(call);
}
int stops_itself(const assay_call* call) {
  return with(call, [] { raise(SIGTSTP); });
}

struct Named {
  const char* name;
  int (*run)(const assay_call*);
};
const Named kAll[] = {
    {"right.heap", with_heap},
    {"right.threads", with_threads},
    {"right.files", with_files},
    {"right.here", with_here},
    {"bad.timer", leaves_a_timer},
    {"bad.alarm", leaves_an_alarm},
    {"bad.limits_time", limits_time},
    {"bad.limits_files", limits_files},
    {"bad.limits_memory", limits_memory},
    {"bad.limits_threads", limits_threads},
    {"bad.pins", pins},
    {"bad.nice", is_nice},
    {"bad.idles", idles},
    {"bad.registers", spends_registers},
    {"bad.lock", takes_a_lock},
    {"bad.clock", takes_the_clock},
    {"bad.folder", goes_elsewhere},
    {"bad.root", changes_root},
    {"bad.silences", silences},
    {"bad.closes_output", closes_output},
    {"bad.upper_halves", leaves_upper_halves},
    {"bad.keeps_files", keeps_files_open},
    {"bad.environment", forgets_the_environment},
    {"bad.own_session", becomes_its_own},
    {"bad.locks_memory", locks_memory},
    {"bad.jumps", jumps},
    {"bad.forks", minds_forks},
    {"bad.filters", filters_calls},
    {"bad.heap", overruns_the_heap},
    {"bad.arguments", uses_up_its_arguments},
    {"bad.outputs", uses_up_its_outputs},
    {"bad.exit", ends_with_words},
    {"bad.stack", needs_stack},
    {"bad.tls", has_much_of_its_own},
    {"bad.stops", stops_itself},
    {"right.environment", with_environment},
    {"right.time", with_time},
    {"right.output", with_output},
    {"right.lock", with_a_lock},
    {"right.patience", with_patience},
};
constexpr std::size_t kCount = sizeof kAll / sizeof kAll[0];

}  // namespace

extern "C" const assay_plugin* assay_plugin_v1() {
  static assay_kernel kernels[kCount];
  for (std::size_t i = 0; i < kCount; ++i) {
    kernels[i].size = sizeof kernels[i];
    kernels[i].schema = "relu(Tensor self) -> Tensor";
    kernels[i].name = kAll[i].name;
    kernels[i].run = kAll[i].run;
    kernels[i].refuses = refuses;
  }
  static assay_plugin plugin{};
  plugin.abi_version = ASSAY_ABI_VERSION;
  plugin.kernel_size = sizeof(assay_kernel);
  plugin.kernel_count = kCount;
  plugin.kernels = kernels;
  plugin.name = "careless";
  plugin.version = "1";
  return &plugin;
}

// Kernels that damage the process they run in, beside ten that do nothing wrong, for the tests of what one kernel may do to others.
// Each computes the right result, and does its damage in every call, or where its comment says something else.
#include <assay/kernel.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <thread>
#include <utility>
#include <xmmintrin.h>

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

bool has_elements(const assay_call* call) {
  const assay_tensor& x = *call->arguments[0].as.tensor;
  for (int d = 0; d < x.ndim; ++d)
    if (x.shape[d] == 0) return false;
  return true;
}

std::uintptr_t page_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{4095}; }

template <class Damage>
int with(const assay_call* call, Damage damage) {
  const int status = right(call);
  if (status == ASSAY_OK) damage();
  return status;
}

int flushes_to_zero(const assay_call* call) {
  return with(call, [] { _mm_setcsr(_mm_getcsr() | 0x8040); });
}
int rounds_down(const assay_call* call) {
  return with(call, [] { _mm_setcsr(_mm_getcsr() | 0x2000); });
}
int sets_x87_precision(const assay_call* call) {
  return with(call, [] {
    const std::uint16_t word = 0x007F;  // 24 bits
    __asm__ volatile("fldcw %0" : : "m"(word));
  });
}
int fills_x87_stack(const assay_call* call) {
  return with(call, [] {
    for (int i = 0; i < 8; ++i) __asm__ volatile("fld1");
  });
}
int leaves_mmx(const assay_call* call) {
  return with(call, [] { __asm__ volatile("pxor %%mm0, %%mm0" ::: "memory"); });
}
int leaves_direction(const assay_call* call) {
  return with(call, [] { __asm__ volatile("std"); });
}
int throws(const assay_call* call) {
  return with(call, [] { throw std::runtime_error("no more of this"); });
}

// Only in the first call that has elements; what it is told about its input no longer holds.
int overwrites_input(const assay_call* call) {
  const int status = right(call);
  if (status != ASSAY_OK || !has_elements(call)) return status;
  const assay_tensor& x = *call->arguments[0].as.tensor;
  void* const page = reinterpret_cast<void*>(page_of(x.data));
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  static_cast<float*>(x.data)[0] += 1;
  return status;
}
// Nobody sees it afterwards.
int borrows_input(const assay_call* call) {
  const int status = right(call);
  if (status != ASSAY_OK || !has_elements(call)) return status;
  const assay_tensor& x = *call->arguments[0].as.tensor;
  void* const page = reinterpret_cast<void*>(page_of(x.data));
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  volatile float* const first = static_cast<float*>(x.data);
  const float before = *first;
  *first = 7;
  *first = before;
  mprotect(page, 4096, PROT_READ);
  return status;
}

// Reads 70 kB past its input, through whatever guards it, under a handler that it takes back.
sigjmp_buf recovery;
void recover(int) { siglongjmp(recovery, 1); }
int survives_faults(const assay_call* call) {
  struct sigaction own {};
  own.sa_handler = recover;
  own.sa_flags = SA_NODEFER;
  struct sigaction before[2] = {};
  sigaction(SIGSEGV, &own, &before[0]);
  sigaction(SIGBUS, &own, &before[1]);
  const assay_tensor& x = *call->arguments[0].as.tensor;
  if (sigsetjmp(recovery, 1) == 0) {
    const volatile char* const data = static_cast<const char*>(x.data);
    for (int i = 0; i < 70'000; ++i) (void)data[i];
  }
  sigaction(SIGSEGV, &before[0], nullptr);
  sigaction(SIGBUS, &before[1], nullptr);
  return right(call);
}

// Whether this is the first time in the life of the file that the environment names.
bool first_time() {
  const char* const file = std::getenv("DAMAGE_ONCE");
  if (file == nullptr) return false;
  const int made = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (made >= 0) close(made);
  return made >= 0;
}
int kills_itself_once(const assay_call* call) {
  if (first_time()) kill(getpid(), SIGKILL);
  return right(call);
}
int kills_itself(const assay_call* call) {
  kill(getpid(), SIGKILL);
  return right(call);
}
int stops_its_parent(const assay_call* call) {
  return with(call, [] { kill(getppid(), SIGSTOP); });
}
int kills_its_parent(const assay_call* call) {
  return with(call, [] { kill(getppid(), SIGKILL); });
}

// The first page of a named mapping of this process: what it shares with the harness.
int zeroes_shared_memory(const assay_call* call) {
  const int status = right(call);
  if (status != ASSAY_OK) return status;
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    if (std::strstr(line, "memfd:assay") != nullptr && std::strstr(line, "rw-s 00000000") != nullptr &&
        std::sscanf(line, "%lx-%lx", &begin, &end) == 2)
      std::memset(reinterpret_cast<void*>(begin), 0, 4096);
  }
  if (maps != nullptr) std::fclose(maps);
  return status;
}

// The result that it was asked for, once more, 20 ms after it has returned.
int writes_late(const assay_call* call) {
  const int status = right(call);
  if (status != ASSAY_OK || !has_elements(call)) return status;
  auto* const out = static_cast<volatile float*>(call->outputs[0]->data);
  std::thread([out] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    *out = -123;
  }).detach();
  return status;
}

int unmaps(const assay_call* call) {
  const int status = right(call);
  const assay_tensor& x = *call->arguments[0].as.tensor;
  if (status == ASSAY_OK && has_elements(call)) munmap(reinterpret_cast<void*>(page_of(x.data)), 4096);
  return status;
}
int closes_descriptors(const assay_call* call) {
  return with(call, [] {
    for (int fd = 0; fd < 64; ++fd) close(fd);
  });
}
int takes_the_output_away(const assay_call* call) {
  const int status = right(call);
  if (status == ASSAY_OK && has_elements(call))
    mprotect(reinterpret_cast<void*>(page_of(call->outputs[0]->data)), 4096, PROT_READ);
  return status;
}
// For whoever runs next in the process.
int blocks_signals(const assay_call* call) {
  return with(call, [] {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
  });
}
int handles_signals(const assay_call* call) {
  return with(call, [] { signal(SIGTERM, SIG_IGN); });
}
int opens_code(const assay_call* call) {
  return with(call, [] {
    mprotect(reinterpret_cast<void*>(page_of(reinterpret_cast<void*>(std::getenv))), 4096,
             PROT_READ | PROT_WRITE | PROT_EXEC);
  });
}
int locks_its_input(const assay_call* call) {
  const int status = right(call);
  if (status == ASSAY_OK && has_elements(call))
    mprotect(reinterpret_cast<void*>(page_of(call->arguments[0].as.tensor->data)), 4096, PROT_READ);
  return status;
}
int leaves_descriptors(const assay_call* call) {
  static bool left = false;
  return with(call, [] {
    if (!std::exchange(left, true) && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) std::abort();
  });
}
int crashes(const assay_call* call) {
  if (call->arguments[0].as.tensor->ndim == 3) *reinterpret_cast<volatile int*>(16) = 1;
  return right(call);
}
// What a library does that compiles at its first call: harmless.
int starts_a_program(const assay_call* call) {
  return with(call, [] {
    static const int made = std::system("trap '' SEGV; (exec 3>&1 1>&2 2>&3; true); sh -c 'kill -KILL $$' 2>/dev/null; true");
    (void)made;
  });
}

struct Named {
  const char* name;
  int (*run)(const assay_call*);
};
const Named kAll[] = {
    {"good.0", right},
    {"good.1", right},
    {"good.2", right},
    {"good.3", right},
    {"good.4", right},
    {"bad.flushes_to_zero", flushes_to_zero},
    {"bad.rounds_down", rounds_down},
    {"bad.x87_precision", sets_x87_precision},
    {"bad.x87_stack", fills_x87_stack},
    {"bad.mmx", leaves_mmx},
    {"bad.direction", leaves_direction},
    {"bad.throws", throws},
    {"bad.overwrites_input", overwrites_input},
    {"bad.borrows_input", borrows_input},
    {"bad.survives_faults", survives_faults},
    {"bad.kills_itself_once", kills_itself_once},
    {"bad.kills_itself", kills_itself},
    {"bad.stops_its_parent", stops_its_parent},
    {"bad.kills_its_parent", kills_its_parent},
    {"bad.zeroes", zeroes_shared_memory},
    {"bad.writes_late", writes_late},
    {"bad.unmaps", unmaps},
    {"bad.closes", closes_descriptors},
    {"bad.protects_output", takes_the_output_away},
    {"bad.crashes", crashes},
    {"bad.blocks_signals", blocks_signals},
    {"bad.handles_signals", handles_signals},
    {"bad.opens_code", opens_code},
    {"bad.locks_input", locks_its_input},
    {"harmless.leaves_descriptors", leaves_descriptors},
    {"harmless.starts_a_program", starts_a_program},
    {"good.5", right},
    {"good.6", right},
    {"good.7", right},
    {"good.8", right},
    {"good.9", right},
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
  plugin.name = "damage";
  plugin.version = "1";
  return &plugin;
}

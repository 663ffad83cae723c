#include "fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(ASSAY_SANITIZE_ADDRESS)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(ASSAY_SANITIZE_THREAD)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__x86_64__)
// Callee-saved registers and the stack pointer; rdi: where to keep this one's, rsi: the other one's.
extern "C" void assay_cuda_switch(void** from, void* to);
asm(R"(
.text
.local assay_cuda_switch
.type assay_cuda_switch, @function
assay_cuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size assay_cuda_switch, . - assay_cuda_switch
)");
#elif defined(__aarch64__)
extern "C" void assay_cuda_switch(void** from, void* to);
asm(R"(
.text
.local assay_cuda_switch
.type assay_cuda_switch, %function
assay_cuda_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size assay_cuda_switch, . - assay_cuda_switch
)");
#else
#error "the emulation of CUDA knows how to switch stacks on x86-64 and AArch64 only"
#endif

namespace assay::cuda::emulation {
namespace {

#if defined(ASSAY_SANITIZE_ADDRESS)

// The stack of the thread itself, which the sanitizer wants to know when it is entered again.
struct OwnStack {
  const void* lowest = nullptr;
  std::size_t bytes = 0;
  OwnStack() {
    pthread_attr_t attributes;
    void* base = nullptr;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &base, &bytes);
    pthread_attr_destroy(&attributes);
    lowest = base;
  }
};
#endif

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber(std::size_t bytes, void (*entry)()) : entry_(entry) {
  const std::size_t whole = (bytes + page() - 1) / page() * page() + page();
  void* memory =
      mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page(), PROT_NONE);
  stack_ = static_cast<char*>(memory) + page();
  bytes_ = whole - page();
#if defined(ASSAY_SANITIZE_THREAD)
  sanitizer_ = __tsan_create_fiber(0);
#endif
  reset();
}

Fiber::~Fiber() {
  if (stack_ == nullptr) return;
#if defined(ASSAY_SANITIZE_ADDRESS)
  __asan_unpoison_memory_region(stack_, bytes_);
#endif
#if defined(ASSAY_SANITIZE_THREAD)
  __tsan_destroy_fiber(sanitizer_);
#endif
  munmap(static_cast<char*>(stack_) - page(), bytes_ + page());
}

void Fiber::reset() {
#if defined(ASSAY_SANITIZE_ADDRESS)
  __asan_unpoison_memory_region(stack_, bytes_);
#endif
  auto** top = reinterpret_cast<void**>(static_cast<char*>(stack_) + bytes_);
#if defined(__x86_64__)
  // As a call would leave it: 8 bytes beyond a multiple of 16 when `entry` starts.
  top -= 3;
  *--top = reinterpret_cast<void*>(entry_);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
#else
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = nullptr;
  top[11] = reinterpret_cast<void*>(entry_);  // x30
#endif
  top_ = top;
}

void Fiber::arrive() {
#if defined(ASSAY_SANITIZE_ADDRESS)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void Fiber::switch_to(Fiber& from, Fiber& to) {
#if defined(ASSAY_SANITIZE_ADDRESS)
  static thread_local const OwnStack own;
  void* kept = nullptr;
  __sanitizer_start_switch_fiber(&kept, to.stack_ == nullptr ? own.lowest : to.stack_,
                                 to.stack_ == nullptr ? own.bytes : to.bytes_);
#endif
#if defined(ASSAY_SANITIZE_THREAD)
  if (from.sanitizer_ == nullptr) from.sanitizer_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.sanitizer_, 0);
#endif
  assay_cuda_switch(&from.top_, to.top_);
#if defined(ASSAY_SANITIZE_ADDRESS)
  __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
}

}  // namespace assay::cuda::emulation

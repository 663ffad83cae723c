// What code compiled with -fsanitize=thread calls (GCC: sanitizer.def; LLVM: ThreadSanitizer.cpp), for the checker. While that
// is off, which it is in all processes that nobody asked for it, this is a call and a branch.
#include "checker.h"

namespace {
void hook(void* address, std::size_t bytes, bool write, const void* pc) {
  assay::cuda::emulation::checker_access(address, bytes, write, false, pc);
}
void hook_range(void* address, std::size_t bytes, bool write, const void* pc) {
  for (std::size_t i = 0; i < bytes; ++i) hook(static_cast<char*>(address) + i, 1, write, pc);
}
}  // namespace

extern "C" {
#define ASSAY_HOOKS(n)                                                                       \
  void __tsan_read##n(void* a) { hook(a, n, false, __builtin_return_address(0)); }           \
  void __tsan_write##n(void* a) { hook(a, n, true, __builtin_return_address(0)); }           \
  void __tsan_unaligned_read##n(void* a) { hook(a, n, false, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##n(void* a) { hook(a, n, true, __builtin_return_address(0)); }
ASSAY_HOOKS(1)
ASSAY_HOOKS(2)
ASSAY_HOOKS(4)
ASSAY_HOOKS(8)
ASSAY_HOOKS(16)
void __tsan_read_range(void* a, std::size_t n) { hook_range(a, n, false, __builtin_return_address(0)); }
void __tsan_write_range(void* a, std::size_t n) { hook_range(a, n, true, __builtin_return_address(0)); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}

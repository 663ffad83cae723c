// What the scheduler tells the checker (checker.cpp), where there is one: where kernels are compiled to report each access to
// memory. It looks at nothing unless the process is asked to (kCheckVariable): then an access costs a call and a branch, and
// what the scheduler says costs a branch. Elsewhere all this is nothing.
#pragma once

#include <cstddef>

#include "launch.h"

namespace assay::cuda::emulation {

// Of functions that the checker must not look into: they are no code of a kernel's.
#define ASSAY_EMULATION __attribute__((no_sanitize("thread")))

#ifdef ASSAY_CUDA_CHECKED
struct CheckerSwitch {
  bool wanted;      // of this process, for as long as it runs
  bool on = false;  // code of a kernel runs
};
extern CheckerSwitch checker_switch;

// What the functions below do if the checker is wanted.
namespace checking {
void memory(const void* address, std::size_t bytes, const char* name, bool writable);
void forget(const void* address);
void begin(const Launch& launch);
void end();
void block(uint3 index);
void thread(unsigned thread);
void barrier();
void warp(unsigned warp, unsigned mask, bool orders_memory);
void shared(const void* address, std::size_t bytes, const char* name);
void access(const void* address, std::size_t bytes, bool write, bool atomic, const void* pc);
}  // namespace checking

inline void checker_memory(const void* address, std::size_t bytes, const char* name, bool writable) {
  if (checker_switch.wanted) checking::memory(address, bytes, name, writable);
}
inline void checker_forget(const void* address) {
  if (checker_switch.wanted) checking::forget(address);
}
inline void checker_begin(const Launch& launch) {
  if (checker_switch.wanted) checking::begin(launch);
}
inline void checker_end() {
  if (checker_switch.wanted) checking::end();
}
inline void checker_block(uint3 index) {
  if (checker_switch.wanted) checking::block(index);
}
inline void checker_thread(unsigned thread) {
  if (checker_switch.wanted) checking::thread(thread);
}
inline void checker_barrier() {
  if (checker_switch.wanted) checking::barrier();
}
inline void checker_warp(unsigned warp, unsigned mask, bool orders_memory) {
  if (checker_switch.wanted) checking::warp(warp, mask, orders_memory);
}
inline void checker_shared(const void* address, std::size_t bytes, const char* name) {
  if (checker_switch.wanted) checking::shared(address, bytes, name);
}
inline void checker_enable(bool enable) {
  if (checker_switch.wanted) checker_switch.on = enable;
}
// An access that the compiler does not report by itself.
ASSAY_EMULATION inline void checker_access(const void* address, std::size_t bytes, bool write, bool atomic,
                                           const void* pc) {
  if (checker_switch.on) [[unlikely]]
    checking::access(address, bytes, write, atomic, pc);
}
#else
inline void checker_memory(const void*, std::size_t, const char*, bool) {}
inline void checker_forget(const void*) {}
inline void checker_begin(const Launch&) {}
inline void checker_end() {}
inline void checker_block(uint3) {}
inline void checker_thread(unsigned) {}
inline void checker_barrier() {}
inline void checker_warp(unsigned, unsigned, bool) {}
inline void checker_shared(const void*, std::size_t, const char*) {}
inline void checker_enable(bool) {}
inline void checker_access(const void*, std::size_t, bool, bool, const void*) {}
#endif

}  // namespace assay::cuda::emulation

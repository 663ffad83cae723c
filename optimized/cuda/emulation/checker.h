// What the scheduler tells the checker (checker.cpp), where there is one: in the library of kernels that were compiled to
// report each access to memory. Elsewhere all this is nothing.
#pragma once

#include <cstddef>

#include "launch.h"

namespace assay::cuda::emulation {

#ifdef ASSAY_CUDA_CHECKED
void checker_memory(const void* address, std::size_t bytes, const char* name, bool writable);
void checker_forget(const void* address);
void checker_begin(const Launch& launch);
void checker_end();
void checker_block(uint3 index);
void checker_thread(unsigned thread);
void checker_barrier();
void checker_warp(unsigned warp, unsigned mask, bool orders_memory);
void checker_shared(const void* address, std::size_t bytes, const char* name);
void checker_enable(bool enable);
// An access that the compiler does not report by itself.
void checker_access(const void* address, std::size_t bytes, bool write, bool atomic, const void* pc);
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

// What CUDA adds to C++, for a C++ compiler: keywords, the variables of a thread, and the functions that kernels of this
// project call. A function that is missing here is missing on purpose until a kernel needs it.
//
// Not modelled: memory that other threads see late (fences do nothing), time, and the rounding of approximate
// instructions: elementary functions are the C library's.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "checker.h"
#include "launch.h"
#include "types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

#define ASSAY_WHERE_ \
  ::assay::cuda::emulation::Location { file, line }
#define ASSAY_CALLER_ const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline constexpr int warpSize = 32;

ASSAY_EMULATION inline void __syncthreads(ASSAY_CALLER_) {
  assay::cuda::emulation::wait_for_block(assay::cuda::emulation::Barrier::plain, 0, ASSAY_WHERE_);
}
ASSAY_EMULATION inline int __syncthreads_or(int predicate, ASSAY_CALLER_) {
  return assay::cuda::emulation::wait_for_block(assay::cuda::emulation::Barrier::any, predicate,
                                                ASSAY_WHERE_);
}
ASSAY_EMULATION inline int __syncthreads_and(int predicate, ASSAY_CALLER_) {
  return assay::cuda::emulation::wait_for_block(assay::cuda::emulation::Barrier::all, predicate,
                                                ASSAY_WHERE_);
}
ASSAY_EMULATION inline int __syncthreads_count(int predicate, ASSAY_CALLER_) {
  return assay::cuda::emulation::wait_for_block(assay::cuda::emulation::Barrier::count, predicate,
                                                ASSAY_WHERE_);
}
ASSAY_EMULATION inline void __syncwarp(unsigned mask = ~0u, ASSAY_CALLER_) {
  int nothing = 0;
  assay::cuda::emulation::wait_for_warp(
      "__syncwarp", mask, &nothing, [](void* const*, unsigned) {}, ASSAY_WHERE_);
}

namespace assay::cuda::emulation {

template <class T>
struct Shuffled {
  T in, out;
  int from;  // the lane whose value this one reads
};

// Precondition: `from` is a lane of the caller's group of `width`, as the four functions below compute it.
template <class T>
ASSAY_EMULATION T shuffle(const char* name, unsigned mask, T value, int from, Location where) {
  Shuffled<T> slot{value, value, from};
  wait_for_warp(
      name, mask, &slot,
      [](void* const* slots, unsigned lanes) ASSAY_EMULATION {
        for (unsigned m = lanes; m != 0; m &= m - 1) {
          auto& mine = *static_cast<Shuffled<T>*>(slots[std::countr_zero(m)]);
          // What a lane outside the mask gives is undefined; it may be discarded, so it is poison and no error.
          if ((lanes >> mine.from & 1) != 0)
            mine.out = static_cast<Shuffled<T>*>(slots[mine.from])->in;
          else
            std::memset(static_cast<void*>(&mine.out), 0xff, sizeof mine.out);
        }
      },
      where);
  return slot.out;
}

struct Ballot {
  int predicate;
  unsigned lanes;
};

ASSAY_EMULATION inline unsigned ballot(const char* name, unsigned mask, int predicate, Location where) {
  Ballot slot{predicate, 0};
  wait_for_warp(
      name, mask, &slot,
      [](void* const* slots, unsigned lanes) ASSAY_EMULATION {
        unsigned yes = 0;
        for (unsigned m = lanes; m != 0; m &= m - 1) {
          const int i = std::countr_zero(m);
          if (static_cast<Ballot*>(slots[i])->predicate != 0) yes |= 1u << i;
        }
        for (unsigned m = lanes; m != 0; m &= m - 1)
          static_cast<Ballot*>(slots[std::countr_zero(m)])->lanes = yes;
      },
      where);
  return slot.lanes;
}

}  // namespace assay::cuda::emulation

template <class T>
ASSAY_EMULATION T __shfl_sync(unsigned mask, T value, int from, int width = 32, ASSAY_CALLER_) {
  const int lane = assay::cuda::emulation::lane();
  return assay::cuda::emulation::shuffle("__shfl_sync", mask, value,
                                         (lane & ~(width - 1)) | (from & (width - 1)), ASSAY_WHERE_);
}
template <class T>
ASSAY_EMULATION T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, ASSAY_CALLER_) {
  const int lane = assay::cuda::emulation::lane(), d = static_cast<int>(by);
  return assay::cuda::emulation::shuffle("__shfl_up_sync", mask, value,
                                         (lane & (width - 1)) < d ? lane : lane - d, ASSAY_WHERE_);
}
template <class T>
ASSAY_EMULATION T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, ASSAY_CALLER_) {
  const int lane = assay::cuda::emulation::lane(), d = static_cast<int>(by);
  return assay::cuda::emulation::shuffle("__shfl_down_sync", mask, value,
                                         (lane & (width - 1)) + d >= width ? lane : lane + d, ASSAY_WHERE_);
}
template <class T>
ASSAY_EMULATION T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, ASSAY_CALLER_) {
  const int lane = assay::cuda::emulation::lane(), other = lane ^ with;
  return assay::cuda::emulation::shuffle("__shfl_xor_sync", mask, value,
                                         (other & ~(width - 1)) > (lane & ~(width - 1)) ? lane : other,
                                         ASSAY_WHERE_);
}
ASSAY_EMULATION inline unsigned __ballot_sync(unsigned mask, int predicate, ASSAY_CALLER_) {
  return assay::cuda::emulation::ballot("__ballot_sync", mask, predicate, ASSAY_WHERE_);
}
ASSAY_EMULATION inline int __any_sync(unsigned mask, int predicate, ASSAY_CALLER_) {
  return assay::cuda::emulation::ballot("__any_sync", mask, predicate, ASSAY_WHERE_) != 0;
}
ASSAY_EMULATION inline int __all_sync(unsigned mask, int predicate, ASSAY_CALLER_) {
  return assay::cuda::emulation::ballot("__all_sync", mask, predicate, ASSAY_WHERE_) == mask;
}
inline unsigned __activemask() { return assay::cuda::emulation::lanes_left(); }

// Blocks run on one thread of the program, so that plain operations are atomic; the checker is told.
template <class T>
ASSAY_EMULATION T atomicAdd(T* address, std::type_identity_t<T> value) {
  assay::cuda::emulation::checker_access(address, sizeof(T), true, true, __builtin_return_address(0));
  const T old = *address;
  *address = static_cast<T>(old + value);
  return old;
}

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
// Dot product of four signed or unsigned bytes, added to c (the instruction dp4a).
ASSAY_EMULATION inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i)
    c = static_cast<int>(
        static_cast<unsigned>(c) +
        static_cast<unsigned>(static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i)));
  return c;
}

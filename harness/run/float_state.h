// The control bits of floating-point arithmetic: rounding mode, exception masks, flush-to-zero, denormals-are-zero.
#pragma once

#if !defined(__x86_64__)
#error "float_state.h knows x86-64 only"
#endif

#include <immintrin.h>

#include <cstdint>

namespace assay {

struct FloatState {
  std::uint32_t mxcsr;
  std::uint16_t x87;

  static FloatState now() {
    FloatState s{_mm_getcsr(), 0};
    __asm__ volatile("fnstcw %0" : "=m"(s.x87));
    return s;
  }
  // To nearest, nothing flushed, everything masked.
  static constexpr FloatState standard() { return {0x1F80, 0x037F}; }
  void set() const {
    _mm_setcsr(mxcsr);
    __asm__ volatile("fldcw %0" : : "m"(x87));
  }
  // The low six bits of MXCSR are sticky flags that any arithmetic sets.
  friend bool operator==(FloatState a, FloatState b) {
    return (a.mxcsr & 0xFFC0) == (b.mxcsr & 0xFFC0) && (a.x87 & 0x0F3F) == (b.x87 & 0x0F3F);
  }
};

}  // namespace assay

// What the processor keeps between two calls and arithmetic depends on: MXCSR (rounding mode, exception masks, flush-to-zero,
// denormals-are-zero), the x87 control word and which x87 registers are occupied, the direction flag and alignment checks.
#pragma once

#if !defined(__x86_64__)
#error "float_state.h knows x86-64 only"
#endif

#include <immintrin.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

struct FloatState {
  // What may differ, as bits of one number.
  enum Change : std::uint32_t { control = 1, x87_control = 2, x87_registers = 4, direction = 8, alignment = 16 };

  std::uint32_t mxcsr;
  std::uint16_t x87;
  std::uint16_t tags = kEmpty;   // of the x87 registers, which MMX uses, too
  std::uint64_t processor = 0;  // of RFLAGS, the two flags above

  // Strings are copied forward from then on: to be called at once after code that may have changed the direction flag.
  [[gnu::always_inline]] static FloatState now() {
    const std::uint64_t all = __builtin_ia32_readeflags_u64();
    __asm__ volatile("cld" ::: "cc");
    std::array<std::uint32_t, 7> environment;
    __asm__ volatile("fnstenv %0" : "=m"(environment));  // which masks all exceptions
    FloatState s{_mm_getcsr(), static_cast<std::uint16_t>(environment[0]),
                 static_cast<std::uint16_t>(environment[2]), all & kProcessor};
    __asm__ volatile("fldcw %0" : : "m"(s.x87));
    return s;
  }
  // To nearest, nothing flushed, everything masked, registers empty.
  static constexpr FloatState standard() { return {0x1F80, 0x037F}; }
  // Registers that are to be occupied stay as they are.
  void set() const {
    if (tags == kEmpty) __asm__ volatile("fninit");
    _mm_setcsr(mxcsr);
    __asm__ volatile("fldcw %0" : : "m"(x87));
    const std::uint64_t all = __builtin_ia32_readeflags_u64();
    if ((all & kProcessor) != processor) __builtin_ia32_writeeflags_u64((all & ~kProcessor) | processor);
  }
  // The low six bits of MXCSR are sticky flags that any arithmetic sets.
  std::uint32_t changed_from(const FloatState& s) const {
    std::uint32_t changes = 0;
    if ((mxcsr & 0xFFC0) != (s.mxcsr & 0xFFC0)) changes |= control;
    if ((x87 & 0x0F3F) != (s.x87 & 0x0F3F)) changes |= x87_control;
    if (tags != s.tags) changes |= x87_registers;
    if (((processor ^ s.processor) & kDirection) != 0) changes |= direction;
    if (((processor ^ s.processor) & kAlignment) != 0) changes |= alignment;
    return changes;
  }
  friend bool operator==(const FloatState& a, const FloatState& b) { return a.changed_from(b) == 0; }

 private:
  static constexpr std::uint16_t kEmpty = 0xFFFF;
  static constexpr std::uint64_t kDirection = 1 << 10, kAlignment = 1 << 18, kProcessor = kDirection | kAlignment;
};

// What a kernel left changed, for after "left ": "the floating-point control bits (rounding, flush to zero) changed".
inline std::string changes_text(std::uint32_t changes) {
  struct Named {
    std::uint32_t change;
    std::string_view words;
  };
  constexpr std::array<Named, 5> kAll{
      {{FloatState::control, "the floating-point control bits (rounding, flush to zero) changed"},
       {FloatState::x87_control, "the x87 control word changed"},
       {FloatState::x87_registers, "x87 or MMX registers occupied (no emms, or a stack that is not empty)"},
       {FloatState::direction, "the direction flag set"},
       {FloatState::alignment, "the flag for alignment checks set"}}};
  std::string text;
  for (const Named& n : kAll)
    if ((changes & n.change) != 0) text.append(text.empty() ? "" : ", ").append(n.words);
  return text;
}

}  // namespace assay

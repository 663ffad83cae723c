// The floating-point unit as IEEE 754 has it, whatever a loaded library left behind: a shared object that was linked
// with -ffast-math sets FTZ and DAZ for the thread that loads it.
#pragma once

#include <cfenv>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace assay {

// Rounds to nearest even, keeps subnormals and traps nothing while it lives; then puts back what it found.
class StandardFloatState {
 public:
#if defined(__x86_64__) || defined(__i386__)
  StandardFloatState() : saved_(_mm_getcsr()) {
    if ((saved_ & kControl) != kStandard) _mm_setcsr(kStandard);
  }
  ~StandardFloatState() {
    if ((saved_ & kControl) != kStandard) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned kStandard = 0x1F80;  // every exception masked, round to nearest, no FTZ, no DAZ
  static constexpr unsigned kControl = 0xFFC0;   // all but the sticky exception flags
  unsigned saved_;
#else
  StandardFloatState() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~StandardFloatState() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
  StandardFloatState(const StandardFloatState&) = delete;
  StandardFloatState& operator=(const StandardFloatState&) = delete;
};

}  // namespace assay

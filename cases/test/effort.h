// How much a test tries.
#pragma once

namespace assay {

// Less where a sanitizer makes every step slow: it looks at memory and at what is undefined, which a few tries reach.
#if defined(ASSAY_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

template <class T>
constexpr T effort(T full, T sanitized) {
  return kSanitized ? sanitized : full;
}

}  // namespace assay

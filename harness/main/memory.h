// How commands that diagnose use memory.
#pragma once

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace assay {

// Keeps memory that is freed, for what is allocated next. Each cause that is tried on a large tensor takes some copies of it; given
// back to the system, and cleared by that, their pages cost more than all else (10 million elements: 27 of 43 s).
inline void keep_freed_memory() {
#ifdef M_MMAP_MAX
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace assay

// Kernels that do not return, or return twice: the timing process says which (call_page.h), and ends.
#pragma once

#include <cstddef>
#include <string>

#include "call_page.h"

namespace assay {

// While it lives, a kernel of the open group is running. If it is still there after `seconds`, the process ends. A child that
// the kernel forked and that returns from it ends the process, too. One at a time; 0 seconds: no limit.
class CallLimit {
 public:
  // Where the kernel stands. Without it, the process ends in silence.
  static void tell(CallPage& page);

  // `kernel` is its number in the group.
  CallLimit(std::size_t kernel, double seconds);
  ~CallLimit();
  // What the calls since it was last asked left changed, as CallState says it.
  static std::string damage();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;
};

}  // namespace assay

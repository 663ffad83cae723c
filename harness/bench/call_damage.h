// What a call leaves behind for whoever runs next in its process.
#pragma once

#include <assay/kernel.h>

#include <stdexcept>
#include <string>

namespace assay {

// A kernel failed while it was timed, or an exception left it.
struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Calls it. Throws KernelError for an exception that leaves it.
int run_kernel(const assay_kernel& kernel, const assay_call& call);

// The state that calls begin with: floating-point arithmetic, the processor's flags, handlers of signals.
class CallState {
 public:
  // Handlers are to stay as they are now; unless it is called, as they are before the first call.
  static void keep();
  // To be called before a kernel; and after it: what it has changed, such as "left the direction flag set", or "". Puts it right again.
  static void begin();
  static std::string end();
};

}  // namespace assay

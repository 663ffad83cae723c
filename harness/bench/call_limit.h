// Kernels that do not return: the timing process says which, and ends.
#pragma once

#include <cstddef>

namespace assay {

// While it lives, a kernel of the open group is running. If it is still there after `seconds`, a line {"hung": number,
// "seconds": seconds} is sent, and the process ends. One at a time; 0 seconds: no limit.
class CallLimit {
 public:
  // Where lines go. Without it, the process ends in silence.
  static void tell(int socket);

  // `kernel` is its number in the group.
  CallLimit(std::size_t kernel, double seconds);
  ~CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;
};

}  // namespace assay

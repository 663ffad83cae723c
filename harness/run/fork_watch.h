// Kernels that fork. A child that returns from the kernel is a second worker on the same memory: it ends at once, and
// its worker with it, so that the fork is the kernel's verdict.
#pragma once

#include <sys/types.h>

#include "protocol.h"

namespace assay {

class ForkWatch {
 public:
  ForkWatch();
  // The process that may go on; where the fork is said.
  void begin(pid_t worker, Crash& crash);
  // After every return from a kernel. In a child it does not come back; in the worker it does once the children that
  // the kernel forked have ended or had their time.
  void returned();

 private:
  pid_t worker_ = 0;
  Crash* crash_ = nullptr;
};

}  // namespace assay

// Starts the worker executables of an environment.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>

#include "lane.h"

namespace assay {

// What the child has as its file descriptors 0 (always /dev/null), 1, 2 and 3; no others are open in it.
struct ChildFiles {
  int out = 2;
  int err = 2;
  int extra = -1;  // as number 3, or none
};

// Starts `program worker first... environment.arguments...` in a process group of its own, with the environment's
// variables, and with one passively waiting OpenMP thread unless they say otherwise.
// Throws std::runtime_error naming the program.
pid_t start_process(const Environment& environment, std::span<const std::string> first,
                    const ChildFiles& files);

// Waits for it to end, for a while if `patience_ms` is not negative, and kills it then. As waitpid gives the status.
int end_process(pid_t process, int patience_ms);

// How long it has waited for a processor; 0 where the system does not say.
std::chrono::nanoseconds queued(pid_t process);

// "ended with exit status 1", "was killed by signal 11 (Segmentation fault)".
std::string ending(int wait_status);

}  // namespace assay

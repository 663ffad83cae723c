// What a worker process is asked to do: to run a kernel on a call.
#pragma once

#include <chrono>
#include <cstdint>

#include "call.h"
#include "kernel.h"

namespace assay {

// What one process is to do with a call beside its two runs: run it again and again in the same memory, with other data there now and
// then, with calls of another shape between, and everything as it was before each call.
struct Repeats {
  const Call* other = nullptr;      // the same call with other data
  const Call* neighbour = nullptr;  // of the same kernel with other shapes, or none
  std::uint32_t calls = 0;          // at most
  // It ends after so many calls once they have taken `enough`, and whatever their number after `most` of the processor's time, or
  // five times that of the clock on the wall.
  std::uint32_t least = 0;
  std::chrono::microseconds enough{0}, most{0};
  bool compares = true;  // each call of a kind must give the bits of the first one
};

struct Task {
  const Kernel* kernel = nullptr;
  const Call* call = nullptr;
  // The number of a tensor, inputs before outputs, that has finite numbers instead of poison where it has no elements
  // (an output: anywhere); -1: none. Then nothing is said about what is unwritten.
  int finite = -1;
  const Repeats* repeats = nullptr;  // instead of the two runs
  bool harmless =
      false;  // in place of the kernel, in a process as it would have: code of the worker's own (harmless.h)
};

}  // namespace assay

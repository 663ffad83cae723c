// Clocks. A thread's own time is what counts for one thread: another program that took the processor for a while is no
// concern of the kernel's. With several threads only what passes on the wall is the kernel's speed.
#pragma once

#include <time.h>

#include <cstdint>

namespace assay {

// Nanoseconds.
struct Moment {
  double cpu = 0;   // of this thread
  double wall = 0;  // since some fixed point
};

inline Moment now() {
  const auto read = [](clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  return {read(CLOCK_THREAD_CPUTIME_ID), read(CLOCK_MONOTONIC)};
}

inline Moment operator-(const Moment& end, const Moment& begin) {
  return {end.cpu - begin.cpu, end.wall - begin.wall};
}

}  // namespace assay

// Clocks. The processor time of one thread's work is what counts for one thread: another program that took the processor for a
// while is no concern of the kernel's. With several threads only what passes on the wall is the kernel's speed.
//
// Time is asked of the system itself. A kernel shares this process, and may have put a function of its own in the place of the C
// library's.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace assay {

// Nanoseconds.
struct Moment {
  double cpu = 0;      // of this thread
  double wall = 0;     // since some fixed point
  double process = 0;  // of all threads of this process, and of children that it has waited for
};

namespace clock_detail {

inline long ask_system(long number, long first, void* second) {
#if defined(__x86_64__)
  long answer;
  asm volatile("syscall" : "=a"(answer) : "a"(number), "D"(first), "S"(second) : "rcx", "r11", "memory");
  return answer;
#elif defined(__aarch64__)
  register long answer asm("x0") = first;
  register void* const argument asm("x1") = second;
  register const long which asm("x8") = number;
  asm volatile("svc 0" : "+r"(answer) : "r"(argument), "r"(which) : "memory");
  return answer;
#else
  return syscall(number, first, second);
#endif
}

inline double read(clockid_t clock) {
  timespec t{};
  ask_system(SYS_clock_gettime, clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

inline double of_children() {
  rusage used{};
  ask_system(SYS_getrusage, RUSAGE_CHILDREN, &used);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

}  // namespace clock_detail

inline Moment now() {
  Moment m;
  m.process = clock_detail::of_children() + clock_detail::read(CLOCK_PROCESS_CPUTIME_ID);
  m.wall = clock_detail::read(CLOCK_MONOTONIC);
  m.cpu = clock_detail::read(CLOCK_THREAD_CPUTIME_ID);
  return m;
}

// From `begin` to now. What counts is read last before and first after: between the two lie no questions to the system but one.
inline Moment since(const Moment& begin) {
  Moment m;
  m.cpu = clock_detail::read(CLOCK_THREAD_CPUTIME_ID) - begin.cpu;
  m.wall = clock_detail::read(CLOCK_MONOTONIC) - begin.wall;
  m.process = clock_detail::read(CLOCK_PROCESS_CPUTIME_ID) + clock_detail::of_children() - begin.process;
  return m;
}

}  // namespace assay

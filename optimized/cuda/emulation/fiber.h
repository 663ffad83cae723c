// A stack to run a thread of the emulation on, and the switch between two of them.
#pragma once

#include <cstddef>

namespace assay::cuda::emulation {

class Fiber {
 public:
  Fiber() = default;  // the stack that the program runs on already
  // A stack of its own, with a page that cannot be touched below it. Throws std::bad_alloc.
  Fiber(std::size_t bytes, void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Forgets what the stack holds: the next switch enters `entry` again. Precondition: it is not running.
  void reset();

  // Leaves `from`, which is running, until somebody switches back to it.
  static void switch_to(Fiber& from, Fiber& to);

  // The first thing `entry` does.
  static void arrive();

  const void* stack() const { return stack_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* top_ = nullptr;  // where the registers lie while it does not run
  void* stack_ = nullptr;
  std::size_t bytes_ = 0;
  void (*entry_)() = nullptr;
  [[maybe_unused]] void* sanitizer_ = nullptr;  // of ThreadSanitizer
};

}  // namespace assay::cuda::emulation

// Where long work may end early: somebody has interrupted, or its time is over. Whoever has a reason opens a StopScope on the thread
// that works; loops over elements, rows and candidates, however deep below, pass stop_point().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace assay {

// Thrown by stop_point(). It is no std::exception: it says nothing about what was computed, and whoever makes an answer of those must not
// take it for one.
class Stopped {};

class NoStop;

// While it lives, work of this thread ends when `over` says so, or when a scope around it does. Threads that the work starts have none
// until they open one with of_this_thread() of the thread that starts them.
class StopScope {
 public:
  explicit StopScope(std::function<bool()> over) : over_(std::move(over)), around_(innermost()) {
    innermost() = this;
  }
  ~StopScope() { innermost() = around_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // Of this thread.
  static bool over() {
    for (const StopScope* s = innermost(); s != nullptr; s = s->around_)
      if (s->over_()) return true;
    return false;
  }
  static bool any() { return innermost() != nullptr; }
  // What says for another thread whether this one's work is over. Precondition: the scopes outlive it.
  static std::function<bool()> of_this_thread() {
    return [first = innermost()] {
      for (const StopScope* s = first; s != nullptr; s = s->around_)
        if (s->over_()) return true;
      return false;
    };
  }

 private:
  friend NoStop;
  static const StopScope*& innermost() {
    static constinit thread_local const StopScope* scope = nullptr;
    return scope;
  }

  std::function<bool()> over_;
  const StopScope* around_;
};

// While it lives, nothing ends this thread's work: what is left is short, and is done whole (what a result file says of itself).
class NoStop {
 public:
  NoStop() : around_(std::exchange(StopScope::innermost(), nullptr)) {}
  ~NoStop() { StopScope::innermost() = around_; }
  NoStop(const NoStop&) = delete;
  NoStop& operator=(const NoStop&) = delete;

 private:
  const StopScope* around_;
};

// Until then.
inline std::function<bool()> after(std::chrono::steady_clock::time_point end) {
  return [end] { return std::chrono::steady_clock::now() >= end; };
}

// Throws Stopped if this thread's work is over. It asks each time.
inline void stop_now() {
  if (StopScope::any() && StopScope::over()) throw Stopped();
}

// The same for where it is passed often: it asks once in so many times.
inline void stop_point() {
  if (!StopScope::any()) return;
  constexpr std::uint32_t kSeldom = 32;
  static constinit thread_local std::uint32_t passed = 0;
  if (++passed % kSeldom == 0) stop_now();
}

// The same for the k-th of many small steps.
inline void stop_point_at(std::int64_t k) {
  constexpr std::int64_t kSteps = 1 << 14;
  if (k % kSteps == kSteps - 1) stop_now();
}

}  // namespace assay

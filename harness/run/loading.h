// Libraries that crash, call exit() or hang while they are loaded: the process can still say so.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

// While it lives, a fatal signal or exit() in this process leads to `tell(to, sentence)`, and to exit status 1.
// `tell` may do only what a signal handler may. One guard at a time.
class LoadingGuard {
 public:
  using Tell = void (*)(int to, std::string_view sentence);
  // `arguments` are those of the worker; the last one names what is loaded.
  LoadingGuard(std::span<const std::string> arguments, Tell tell, int to);
  ~LoadingGuard();
  LoadingGuard(const LoadingGuard&) = delete;
  LoadingGuard& operator=(const LoadingGuard&) = delete;
};

// While it lives, a library of somebody's, one that the worker's arguments name as a plugin, is in this function. If it does
// not return in time, that is told as above. Nothing without a guard.
class LoadingLimit {
 public:
  static constexpr unsigned kSeconds = 10;
  explicit LoadingLimit(std::string_view function);
  ~LoadingLimit();
  LoadingLimit(const LoadingLimit&) = delete;
  LoadingLimit& operator=(const LoadingLimit&) = delete;

 private:
  bool armed_ = false;
};

}  // namespace assay

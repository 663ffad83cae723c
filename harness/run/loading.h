// Libraries that crash, or call exit(), while they are loaded: the process can still say so.
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

}  // namespace assay

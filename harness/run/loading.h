// Libraries that crash, or call exit(), while they are loaded: the process can still say so.
#pragma once

#include <functional>
#include <string>

namespace assay {

// While it lives, a fatal signal or exit() in this process leads to `tell` with a sentence, and to exit status 1.
// One at a time.
class LoadingGuard {
 public:
  LoadingGuard(std::string what, std::function<void(const std::string&)> tell);
  ~LoadingGuard();
  LoadingGuard(const LoadingGuard&) = delete;
  LoadingGuard& operator=(const LoadingGuard&) = delete;
};

}  // namespace assay

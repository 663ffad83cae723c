#include "loading.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace assay {

namespace {

// Plain memory: a handler may run in the middle of malloc.
struct Guarded {
  std::array<char, 512> what;
  std::array<char, 256> function;
  bool plugin;              // others may take long to load, as `import torch` does
  LoadingGuard::Tell tell;  // nullptr: no guard
  int to;
};
Guarded guarded{};

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

[[noreturn]] void tell_and_end(std::string_view text) {
  const LoadingGuard::Tell tell = guarded.tell;
  guarded.tell = nullptr;
  tell(guarded.to, text);
  _exit(1);
}

[[noreturn]] void tell_of_end(const char* how, int number, const char* name) {
  std::array<char, 1024> text;
  const int n =
      std::snprintf(text.data(), text.size(),
                    "%s %s%d%s while it was loaded; what runs when a library is loaded must neither crash "
                    "nor end the process",
                    guarded.what.data(), how, number, name);
  tell_and_end({text.data(), static_cast<std::size_t>(n)});
}

void on_alarm(int) {
  if (guarded.tell == nullptr) return;
  std::array<char, 1024> text;
  const int n = std::snprintf(text.data(), text.size(), "%s: %s did not return within %u s",
                              guarded.what.data(), guarded.function.data(), LoadingLimit::kSeconds);
  tell_and_end({text.data(), static_cast<std::size_t>(n)});
}

void on_signal(int number) {
  if (guarded.tell == nullptr) _exit(1);
  const char* name = sigdescr_np(number);
  std::array<char, 64> end;
  std::snprintf(end.data(), end.size(), ", %s)", name != nullptr ? name : "unknown");
  tell_of_end("crashed (signal ", number, end.data());
}

void tell_of_exit(int status, void*) {
  if (guarded.tell != nullptr) tell_of_end("called exit(", status, ")");
}

}  // namespace

LoadingGuard::LoadingGuard(std::span<const std::string> arguments, Tell tell, int to) {
  std::snprintf(guarded.what.data(), guarded.what.size(), "%s",
                arguments.empty() ? "a library" : arguments.back().c_str());
  guarded.plugin = std::ranges::find(arguments, "--plugin") != arguments.end();
  guarded.tell = tell;
  guarded.to = to;
  for (const int number : kSignals) signal(number, on_signal);
  static const bool registered = on_exit(tell_of_exit, nullptr) == 0;
  (void)registered;
}

LoadingGuard::~LoadingGuard() {
  for (const int number : kSignals) signal(number, SIG_DFL);
  guarded.tell = nullptr;
}

LoadingLimit::LoadingLimit(std::string_view function) {
  if (guarded.tell == nullptr || !guarded.plugin) return;
  const std::size_t n = std::min(function.size(), guarded.function.size() - 1);
  std::copy_n(function.begin(), n, guarded.function.begin());
  guarded.function[n] = 0;
  signal(SIGALRM, on_alarm);
  alarm(kSeconds);
  armed_ = true;
}

LoadingLimit::~LoadingLimit() {
  if (!armed_) return;
  alarm(0);
  signal(SIGALRM, SIG_DFL);
}

}  // namespace assay

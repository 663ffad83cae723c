#include "loading.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace assay {

namespace {

// Plain memory: a handler may run in the middle of malloc.
struct Guarded {
  std::array<char, 512> what;
  LoadingGuard::Tell tell;  // nullptr: no guard
  int to;
};
Guarded guarded{};

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

[[noreturn]] void tell_and_end(const char* how, int number, const char* name) {
  std::array<char, 1024> text;
  const int n =
      std::snprintf(text.data(), text.size(),
                    "%s %s%d%s while it was loaded; what runs when a library is loaded must neither crash "
                    "nor end the process",
                    guarded.what.data(), how, number, name);
  const LoadingGuard::Tell tell = guarded.tell;
  guarded.tell = nullptr;
  tell(guarded.to, {text.data(), static_cast<std::size_t>(n)});
  _exit(1);
}

void on_signal(int number) {
  if (guarded.tell == nullptr) _exit(1);
  const char* name = sigdescr_np(number);
  std::array<char, 64> end;
  std::snprintf(end.data(), end.size(), ", %s)", name != nullptr ? name : "unknown");
  tell_and_end("crashed (signal ", number, end.data());
}

void tell_of_exit(int status, void*) {
  if (guarded.tell != nullptr) tell_and_end("called exit(", status, ")");
}

}  // namespace

LoadingGuard::LoadingGuard(std::span<const std::string> arguments, Tell tell, int to) {
  std::snprintf(guarded.what.data(), guarded.what.size(), "%s",
                arguments.empty() ? "a library" : arguments.back().c_str());
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

}  // namespace assay

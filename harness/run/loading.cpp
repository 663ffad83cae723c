#include "loading.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace assay {

namespace {

struct Guarded {
  std::string what;
  std::function<void(const std::string&)> tell;
};
Guarded* guarded = nullptr;

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

[[noreturn]] void tell_and_end(const std::string& how) {
  const Guarded* mine = guarded;
  guarded = nullptr;
  mine->tell(fmt::format("{} {} while it was loaded; what runs when a library is loaded must neither crash nor end the "
                         "process",
                         mine->what, how));
  _exit(1);
}

// The process is lost already: that formatting text is not allowed in signal handlers can make it no worse.
void on_signal(int number) {
  if (guarded != nullptr) tell_and_end(fmt::format("crashed ({})", strsignal(number)));
  _exit(1);
}

void on_exit_called(int status, void*) {
  if (guarded != nullptr) tell_and_end(fmt::format("called exit({})", status));
}

}  // namespace

LoadingGuard::LoadingGuard(std::string what, std::function<void(const std::string&)> tell) {
  guarded = new Guarded{std::move(what), std::move(tell)};
  for (const int number : kSignals) signal(number, on_signal);
  static const bool registered = on_exit(on_exit_called, nullptr) == 0;
  (void)registered;
}

LoadingGuard::~LoadingGuard() {
  for (const int number : kSignals) signal(number, SIG_DFL);
  delete guarded;
  guarded = nullptr;
}

}  // namespace assay

#include "call_damage.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../run/exception_text.h"
#include "../run/float_state.h"
#include "../run/guarded_call.h"
#include "../run/process_state.h"
#include "kept_files.h"

namespace assay {
namespace {

// Not SIGCHLD, SIGINT and SIGQUIT, of which system() takes hold for a while.
constexpr std::array kKeptSignals{SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGALRM, SIGTRAP, SIGABRT, SIGSYS,
                                  SIGHUP,  SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGPROF, SIGVTALRM};
std::array<struct sigaction, kKeptSignals.size()> kept_handlers{};
sigset_t kept_mask{};
bool handlers_kept = false;
std::optional<ProcessState> kept_state;
std::uint32_t changed_registers = 0;  // since somebody looked

// What the C library adds to the flags of each handler that is set, and not to one that never was.
constexpr int kRestorer = 0x04000000;

bool same_handler(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_handler == b.sa_handler && (a.sa_flags & ~kRestorer) == (b.sa_flags & ~kRestorer);
}

// Of vector registers: while they are in use, the older instructions of others are slower. It is no fault to leave them so.
void clear_upper_halves() {
  static const bool has_them = __builtin_cpu_supports("avx") != 0;
  if (has_them) __asm__ volatile("vzeroupper");
}

}  // namespace

int run_kernel(const assay_kernel& kernel, const assay_call& call) {
  try {
    return assay_guarded_call(kernel.run, &call, &changed_registers);
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit: the process ends, and that is the verdict
  } catch (...) {
    throw KernelError("an exception left the kernel: " + exception_text());
  }
}

void CallState::keep() {
  handlers_kept = true;
  for (std::size_t i = 0; i < kKeptSignals.size(); ++i)
    sigaction(kKeptSignals[i], nullptr, &kept_handlers[i]);
  pthread_sigmask(SIG_SETMASK, nullptr, &kept_mask);
  kept_state.emplace(false);
}

void CallState::begin() {
  if (!handlers_kept) keep();  // those of a sanitizer, for example
  FloatState::standard().set();
}

std::string CallState::end() {
  const FloatState now = FloatState::now();
  FloatState::standard().set();
  clear_upper_halves();
  std::string left = changes_text(now.changed_from(FloatState::standard()));
  for (const std::string& more : {registers_text(std::exchange(changed_registers, 0)),
                                  kept_state ? kept_state->changed() : std::string()})
    if (!more.empty()) left += (left.empty() ? "" : ", ") + more;
  for (std::size_t i = 0; i < kKeptSignals.size(); ++i) {
    struct sigaction handler {};
    if (sigaction(kKeptSignals[i], nullptr, &handler) != 0 || same_handler(handler, kept_handlers[i]))
      continue;
    sigaction(kKeptSignals[i], &kept_handlers[i], nullptr);
    const char* const name = sigabbrev_np(kKeptSignals[i]);
    left += fmt::format("{}a handler of its own for SIG{}", left.empty() ? "" : ", ",
                        name != nullptr ? name : "?");
  }
  sigset_t mask{};
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&mask, signal) == sigismember(&kept_mask, signal)) continue;
    const char* const name = sigabbrev_np(signal);
    left += fmt::format("{}SIG{} {}", left.empty() ? "" : ", ", name != nullptr ? name : std::to_string(signal),
                        sigismember(&mask, signal) == 1 ? "blocked" : "no longer blocked");
    pthread_sigmask(SIG_SETMASK, &kept_mask, nullptr);
    break;
  }
  if (!left.empty()) return fmt::format("left {} for whoever runs next", left);
  return files_changed();
}

}  // namespace assay

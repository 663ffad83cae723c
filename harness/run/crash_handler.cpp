#include "crash_handler.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>

namespace assay {

namespace {

Crash* record = nullptr;
pid_t worker = 0;

constexpr std::size_t kStackBytes = 64 * 1024;

// What a kernel forked may end as it likes: only the worker's own end is recorded.
bool is_child() { return getpid() != worker; }

// True for the first of several threads that crash; the others wait for the end.
bool claim(Crash::What what) {
  std::uint32_t nothing = Crash::nothing;
  return record->what.compare_exchange_strong(nothing, what);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  if (is_child()) _exit(70);
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  if (!claim(Crash::signal))
    for (;;) pause();
  record->number = signal;
  record->code = info->si_code;
  record->write = signal == SIGSEGV && (registers[REG_ERR] & 2) != 0;
  record->address = reinterpret_cast<std::uint64_t>(info->si_addr);
  record->instruction = static_cast<std::uint64_t>(registers[REG_RIP]);
  record->stack = static_cast<std::uint64_t>(registers[REG_RSP]);
  _exit(70);
}

void on_exit_called(int status, void*) {
  if (!is_child() && claim(Crash::exit)) record->number = status;
  _exit(status);
}

}  // namespace

void install_crash_handlers(Crash& crash) {
  record = &crash;
  worker = getpid();
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack != MAP_FAILED) {
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = kStackBytes;
    sigaltstack(&alternative, nullptr);
  }
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    sigaction(signal, &action, nullptr);
  // Registered last, so it runs first: destructors of libraries never run in a worker.
  on_exit(on_exit_called, nullptr);
}

}  // namespace assay

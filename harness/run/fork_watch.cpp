#include "fork_watch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "forbidden.h"

namespace assay {

namespace {

// How long a worker waits for children to return, so that the fork is not blamed on a later call.
constexpr std::chrono::milliseconds kPatience{100};

std::atomic<bool> forked{false};

bool has_children() {
  siginfo_t ended{};
  return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG) == 0;
}

}  // namespace

ForkWatch::ForkWatch() {
  if (pthread_atfork(
          nullptr, [] { forked = true; }, nullptr) != 0)
    throw std::runtime_error("a worker process cannot watch for forks");
}

void ForkWatch::begin(pid_t worker, Crash& crash) {
  worker_ = worker;
  crash_ = &crash;
}

void ForkWatch::returned() {
  if (getpid() != worker_) {
    std::uint32_t nothing = Crash::nothing;
    crash_->what.compare_exchange_strong(nothing, Crash::forked);
    trusted_call(SYS_kill, worker_, SIGKILL);
    _exit(70);
  }
  if (!forked.exchange(false)) return;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (has_children() && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace assay

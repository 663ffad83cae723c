#include "interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>

#include "commands.h"

namespace assay {
namespace {

std::atomic<bool> signalled{false};
std::atomic<std::int64_t> last_resort_ms{0};

void end_now(int) { _exit(kInterrupted); }

void end_after(std::int64_t ms) {
  if (ms == 0) return;
  itimerval in{};
  in.it_value.tv_sec = ms / 1000;
  in.it_value.tv_usec = ms % 1000 * 1000;
  setitimer(ITIMER_REAL, &in, nullptr);
}

// Not the same signal again: timeout(1) signals the process and then its group.
void on_interrupt(int) {
  constexpr std::int64_t kSameMs = 500;
  static std::atomic<std::int64_t> first_ms{0};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  if (!signalled.exchange(true)) {
    first_ms = ms;
    end_after(last_resort_ms);
  } else if (ms - first_ms > kSameMs) {
    _exit(kInterrupted);
  }
}

}  // namespace

void catch_interrupts(std::chrono::milliseconds last_resort) {
  last_resort_ms = last_resort.count();
  std::signal(SIGALRM, end_now);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  if (std::signal(SIGHUP, on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

const std::atomic<bool>& interrupted() { return signalled; }

RunOptions until_interrupted() {
  RunOptions options;
  options.give_up = [](auto) { return signalled.load(); };
  return options;
}

}  // namespace assay

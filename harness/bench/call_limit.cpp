#include "call_limit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "../run/fork_watch.h"
#include "call_damage.h"

namespace assay {
namespace {

CallPage nobodys;
CallPage* page = &nobodys;
std::optional<ForkWatch> forks;
pid_t process = 0;
std::string done;
std::uint32_t running = kNothing;  // as a child knows it, when the process has gone on

void on_alarm(int) {
  page->late = true;
  _exit(1);
}

void set_timer(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// In a child it does not come back.
void watch_forks() {
  if (!forks) return;
  if (getpid() != process) page->forker = running;
  forks->returned();
}

// A child that forks has come to the kernel's next call. If each forked, they would soon be too many to end.
void before_fork() {
  if (getpid() != process) watch_forks();
}

}  // namespace

void CallLimit::tell(CallPage& to) {
  page = &to;
  process = getpid();
  forks.emplace();
  forks->begin(process, page->crash);
  pthread_atfork(before_fork, nullptr, nullptr);
  signal(SIGALRM, on_alarm);
  CallState::keep();
}

std::string CallLimit::damage() { return std::exchange(done, {}); }

CallLimit::CallLimit(std::size_t kernel, double seconds) {
  running = static_cast<std::uint32_t>(kernel);
  page->seconds = seconds;
  page->kernel = running;
  ++page->number;
  set_timer(seconds);
  CallState::begin();
}

CallLimit::~CallLimit() {
  std::string left = CallState::end();
  if (left.empty() && page->kernel != running) left = "wrote to memory that its process shares with Assay";
  if (done.empty()) done = std::move(left);
  set_timer(0);
  watch_forks();
  page->kernel = kNothing;
}

}  // namespace assay

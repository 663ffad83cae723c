#include "process_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace assay {
namespace {

constexpr int kFirstCopy = 900;  // of descriptors, below the 1024 that processes may commonly have

constexpr std::array<std::string_view, RLIM_NLIMITS> kLimits{
    "RLIMIT_CPU",      "RLIMIT_FSIZE",  "RLIMIT_DATA",    "RLIMIT_STACK", "RLIMIT_CORE",  "RLIMIT_RSS",
    "RLIMIT_NPROC",    "RLIMIT_NOFILE", "RLIMIT_MEMLOCK", "RLIMIT_AS",    "RLIMIT_LOCKS", "RLIMIT_SIGPENDING",
    "RLIMIT_MSGQUEUE", "RLIMIT_NICE",   "RLIMIT_RTPRIO",  "RLIMIT_RTTIME"};

rlimit limit_of(int resource) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return limit;
}

int nice_now() {
  errno = 0;
  return getpriority(PRIO_PROCESS, 0);
}

int clock_now() {
  int clock = PR_TSC_ENABLE;
  prctl(PR_GET_TSC, &clock, 0, 0, 0);
  return clock;
}

int death_signal() {
  int signal = 0;
  prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0);
  return signal;
}

// The folder, under a number that nobody is in the way of.
int opened(const char* folder) {
  const int first = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int high = first < 0 ? -1 : fcntl(first, F_DUPFD_CLOEXEC, kFirstCopy);
  if (high < 0) return first;
  close(first);
  return high;
}

bool has_time(const timeval& t) { return t.tv_sec != 0 || t.tv_usec != 0; }

}  // namespace

bool stop_timers() {
  bool some = false;
  for (const auto timer : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval now{};
    if (getitimer(timer, &now) != 0 || (!has_time(now.it_value) && !has_time(now.it_interval))) continue;
    some = true;
    const itimerval none{};
    setitimer(timer, &none, nullptr);
  }
  return some;
}

ProcessState::File ProcessState::file_of(int descriptor) {
  struct stat s {};
  if (fstat(descriptor, &s) != 0) return {};
  return {s.st_dev, s.st_ino, true};
}

ProcessState::File ProcessState::folder_of(const char* path) {
  struct stat s {};
  if (stat(path, &s) != 0) return {};
  return {s.st_dev, s.st_ino, true};
}

ProcessState::ProcessState(bool of_a_worker)
    : policy_(sched_getscheduler(0)),
      nice_(nice_now()),
      clock_(clock_now()),
      death_(death_signal()),
      folder_(folder_of(".")),
      root_(folder_of("/")),
      here_(opened(".")),
      top_(opened("/")),
      of_a_worker_(of_a_worker) {
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    const rlimit limit = limit_of(i);
    limits_[static_cast<std::size_t>(i)] = {limit.rlim_cur, limit.rlim_max};
  }
  mask_ = umask(0);
  umask(mask_);
  for (int i = 0; i < 3 && of_a_worker; ++i) {
    standard_[static_cast<std::size_t>(i)] = file_of(i);
    copies_[static_cast<std::size_t>(i)] = fcntl(i, F_DUPFD_CLOEXEC, kFirstCopy);
  }
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    pointers_.push_back(*at);
    environment_.emplace_back(*at);
  }
}

// What is added to it is nobody's loss.
bool ProcessState::lost_environment() const {
  bool same = environ != nullptr;
  for (std::size_t i = 0; i < pointers_.size() && same; ++i)
    same = environ[i] == pointers_[i] && environment_[i] == pointers_[i];
  if (same) return false;
  return std::ranges::any_of(environment_, [](const std::string& variable) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) return false;
    const char* const now = std::getenv(variable.substr(0, equals).c_str());
    return now == nullptr || variable.compare(equals + 1, std::string::npos, now) != 0;
  });
}

std::string ProcessState::changed() const {
  std::string left;
  const auto say = [&](std::string_view what) { left.append(left.empty() ? "" : ", ").append(what); };
  if (of_a_worker_ && stop_timers()) say(kLeftTimer);
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    const Limit& before = limits_[static_cast<std::size_t>(i)];
    const rlimit now = limit_of(i);
    if (now.rlim_cur >= before.soft && now.rlim_max >= before.hard) continue;
    say(fmt::format("a lower limit of its process ({})", kLimits[static_cast<std::size_t>(i)]));
    const rlimit again{before.soft, before.hard}, most{std::min(before.soft, now.rlim_max), now.rlim_max};
    if (setrlimit(static_cast<__rlimit_resource>(i), &again) != 0)
      setrlimit(static_cast<__rlimit_resource>(i), &most);
  }
  if (const int policy = sched_getscheduler(0), nice = nice_now(); policy != policy_ || nice > nice_) {
    say("its process at another priority");
    const sched_param none{};
    sched_setscheduler(0, policy_, &none);
    setpriority(PRIO_PROCESS, 0, nice_);
  }
  if (clock_now() != clock_) {
    say("the processor's clock closed (PR_SET_TSC)");
    prctl(PR_SET_TSC, clock_, 0, 0, 0);
  }
  if (death_signal() != death_) {
    say("its process to go on without its parent (PR_SET_PDEATHSIG)");
    prctl(PR_SET_PDEATHSIG, death_, 0, 0, 0);
  }
  if (folder_of("/") != root_) {
    say("another root folder");
    if (top_ >= 0 && fchdir(top_) == 0 && chroot(".") != 0) say("which cannot be put back");
  }
  if (folder_of(".") != folder_) {
    say("another working folder");
    if (here_ < 0 || fchdir(here_) != 0) say("which cannot be put back");
  }
  if (const mode_t mask = umask(mask_); mask != mask_) say("another umask");
  for (int i = 0; i < 3 && of_a_worker_; ++i) {
    const File& before = standard_[static_cast<std::size_t>(i)];
    if (!before.open || file_of(i) == before) continue;
    say(fmt::format("another file, or none, in the place of descriptor {}, which it had not opened", i));
    dup2(copies_[static_cast<std::size_t>(i)], i);
  }
  if (const int free = of_a_worker_ ? fcntl(copies_[1], F_DUPFD_CLOEXEC, 0) : -1; free >= 0)
    close(free);
  else if (of_a_worker_ && errno == EMFILE)
    say("no descriptor for anybody else to open");
  if (lost_environment()) {
    say("variables of the environment away, or with other values");
    for (const std::string& variable : environment_)
      if (const std::size_t equals = variable.find('='); equals != std::string::npos)
        setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  return left;
}

}  // namespace assay

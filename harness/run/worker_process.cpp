#include "worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "futex.h"
#include "process.h"

namespace assay {

namespace {

constexpr std::size_t kHistory = 8;  // kernels worth naming

std::pair<Descriptor, Descriptor> output_pipe() {
  int ends[2];
  // Nobody reads while a batch runs: a kernel that prints too much loses text instead of waiting for ever.
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw NotStarted(fmt::format("cannot make a pipe to a worker process: {}", std::strerror(errno)));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

WorkerProcess::WorkerProcess(std::shared_ptr<Zygotes> zygotes, const Environment& environment, BellPage& bell)
    : zygotes_(std::move(zygotes)), environment_(environment), bell_(bell) {
  std::tie(output_, worker_output_) = output_pipe();
}

WorkerProcess::~WorkerProcess() { stop(); }

void WorkerProcess::ensure_zygote() {
  if (!zygote_) zygote_ = zygotes_->get(environment_);
}

int WorkerProcess::find(const Kernel& kernel) {
  ensure_zygote();
  return zygote_->find(kernel.schema, kernel.table_name);
}

void WorkerProcess::start() {
  Control& control = arena_.control();
  // The dead worker may have left anything here.
  control.sleeping.store(0);
  control.current.store(0);
  control.crash.what.store(Crash::nothing);
  control.dead.store(0);
  control.start_error[0] = 0;
  control.process.store(0);
  control.began = 0;
  control.asked = 0;
  control.left[0] = 0;
  control.posted.store(posted_);
  control.done.store(posted_);
  history_.clear();
  timed_out_ = false;
  overwritten_ = false;
  zygote_lost_ = false;
  for (int attempt = 0;; ++attempt) {
    ensure_zygote();
    worker_ = zygotes_->next_worker();
    if (zygote_->start_worker(worker_, arena_.file(), bell_.file(), worker_output_.get())) break;
    zygote_.reset();
    if (attempt == 1) throw NotStarted("the process that starts workers has ended");
  }
  started_ = true;
}

void WorkerProcess::post() {
  Control& control = arena_.control();
  if (started_ && control.dead.load() != 0) stop();
  if (!started_) start();
  control.entries = static_cast<std::uint32_t>(batch_.entries().size());
  control.current.store(0);
  running_ = true;
  seen_current_ = kNothing;
  since_ = std::chrono::steady_clock::now();
  control.posted.store(++posted_);
  if (control.sleeping.load() != 0) futex_wake(control.posted);
}

WorkerProcess::State WorkerProcess::poll() {
  Control& control = arena_.control();
  if (zygote_lost_ || control.dead.load() != 0 || control.posted.load() != posted_) {
    running_ = false;
    started_ = false;
    if (!zygote_lost_) end();
    const std::uint32_t dead = control.dead.load();
    if (dead == Control::kNeverStarted)
      throw NotStarted(fmt::format(
          "the worker process could not be started: {}",
          std::string(control.start_error, strnlen(control.start_error, sizeof(control.start_error)))));
    if (dead == Control::kEnded && control.began == 0)
      throw NotStarted(fmt::format("the worker process {} before it could run anything: {}",
                                   ending(control.wait_status), printed()));
    return State::dead;
  }
  if (control.done.load() == posted_) {
    running_ = false;
    return State::finished;
  }
  return State::running;
}

bool WorkerProcess::happened() const {
  const Control& control = const_cast<Arena&>(arena_).control();
  return control.done.load() == posted_ || control.posted.load() != posted_ || control.dead.load() != 0 ||
         zygote_lost_;
}

void WorkerProcess::limit(std::chrono::milliseconds time_limit) {
  const auto now = std::chrono::steady_clock::now();
  const Control& control = arena_.control();
  patience_ = std::max<std::chrono::milliseconds>(3 * time_limit, kLeastPatience);
  if (timed_out_) {
    if (now - since_ > patience_) zygote_->kill();
    return;
  }
  const std::uint32_t current = control.current.load();
  // Calls that are repeated in one entry have the limit each.
  const std::uint32_t calls =
      current < kEntries ? std::atomic_ref(arena_.result(current).calls).load(std::memory_order_relaxed) : 0;
  if (seen_current_ == kNothing || current > seen_current_ || calls != seen_calls_) {
    seen_current_ = current;
    seen_calls_ = calls;
    since_ = now;
    queued_at_start_ = queued(control.process.load());
    return;
  }
  // A process that is not there yet has no call to return from: a limit of a millisecond is not its own.
  const auto of_start = std::max<std::chrono::milliseconds>(time_limit, std::chrono::seconds(1));
  const auto limit = control.process.load() == 0 ? of_start : time_limit;
  if (now - since_ - (queued(control.process.load()) - queued_at_start_) > limit) {
    timed_out_ = true;
    since_ = now;
    zygote_->kill_worker(worker_);
  }
}

void WorkerProcess::check_zygote() {
  if (!started_ || zygote_->alive()) return;
  // The kernel ends its workers with it; nobody reports that.
  zygote_.reset();
  zygote_lost_ = true;
}

void WorkerProcess::stop() {
  if (!started_) return;
  end();
  running_ = false;
  forget();
}

// What its zygote says counts: a kernel may have written anything into the control block, also that its process is dead.
void WorkerProcess::end() {
  Control& control = arena_.control();
  const auto ended = [&] {
    const std::uint32_t dead = control.dead.load();
    return dead == Control::kEnded || dead == Control::kNeverStarted || !zygote_->alive();
  };
  if (!zygote_ || ended()) return;
  overwritten_ = control.dead.load() != 0 || control.posted.load() != posted_;
  zygote_->kill_worker(worker_);
  const auto last = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    const std::uint32_t rings = bell_.bell().rings.load();
    if (ended()) break;
    if (std::chrono::steady_clock::now() > last) zygote_->kill();
    futex_wait(bell_.bell().rings, rings, std::chrono::milliseconds(100));
  }
}

void WorkerProcess::forget() { started_ = false; }

bool WorkerProcess::left_threads() const {
  const Control& control = const_cast<Arena&>(arena_).control();
  return control.threads > control.threads_before;
}

std::string WorkerProcess::left() const {
  const Control& control = const_cast<Arena&>(arena_).control();
  return {control.left, strnlen(control.left, sizeof control.left)};
}

std::uint32_t WorkerProcess::current() const { return const_cast<Arena&>(arena_).control().current.load(); }

Death WorkerProcess::death() const {
  const Control& control = const_cast<Arena&>(arena_).control();
  Death d{};
  d.wait_status = zygote_lost_ ? SIGKILL : control.wait_status;
  d.what = zygote_lost_ ? std::uint32_t{Crash::nothing} : control.crash.what.load();
  d.number = control.crash.number;
  d.code = control.crash.code;
  d.write = control.crash.write != 0;
  d.in_call = d.write;
  d.asked = control.asked != 0;
  d.itself = control.crash.address == static_cast<std::uint64_t>(control.worker);
  d.address = control.crash.address;
  d.stack = control.crash.stack;
  d.base = control.base;
  if (!zygote_lost_) d.where.assign(control.where, strnlen(control.where, sizeof(control.where)));
  return d;
}

bool WorkerProcess::killed_by_others() const {
  const Death d = death();
  return !timed_out_ && d.what == Crash::nothing && WIFSIGNALED(d.wait_status) &&
         (WTERMSIG(d.wait_status) == SIGKILL || WTERMSIG(d.wait_status) == SIGTERM);
}

void WorkerProcess::remember(const std::string& kernel) {
  if (history_.size() < kHistory && std::find(history_.begin(), history_.end(), kernel) == history_.end())
    history_.push_back(kernel);
}

std::string WorkerProcess::printed() {
  std::string text;
  std::array<char, 4096> some;
  for (ssize_t n = read(output_.get(), some.data(), some.size()); n > 0;
       n = read(output_.get(), some.data(), some.size()))
    text.append(some.data(), static_cast<std::size_t>(n));
  return text;
}

}  // namespace assay

// A lane's worker for one environment: its arena, its process, its output, and its death.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arena.h"
#include "batch.h"
#include "check.h"
#include "zygotes.h"

namespace assay {

class WorkerProcess {
 public:
  WorkerProcess(std::shared_ptr<Zygotes> zygotes, const Environment& environment, BellPage& bell);
  ~WorkerProcess();  // ends the process
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const Environment& environment() const { return environment_; }
  Batch& batch() { return batch_; }

  // The kernel's position in the worker's table, or -1. Throws NotStarted.
  int find(const Kernel& kernel);

  // Hands the batch over; starts a process if there is none. Throws NotStarted.
  void post();
  bool running() const { return running_; }

  enum class State { running, finished, dead };
  // Precondition: running(). `finished` and `dead` end the batch; after `dead`, current() is the guilty entry.
  State poll();
  // Whether poll() would say something other than `running`.
  bool happened() const;
  // Between batches: whether it has ended by itself.
  bool happened_to_end() const { return started_ && const_cast<Arena&>(arena_).control().dead.load() != 0; }
  // Looks whether the call has run for too long, and asks for the process's end if so. Then it is soon dead.
  // Time in which it waited for a processor that others used does not count. A zygote that does not see to it in time ends, too.
  void limit(std::chrono::milliseconds time_limit);
  // Whether the zygote, and with it the hope to hear of the worker's end, is gone.
  void check_zygote();
  // Ends the process between batches, so that the next one starts in a fresh one.
  void stop();

  // Whether it has threads after its last batch that it had not before its first.
  bool left_threads() const;
  // What the last batch left otherwise in it, or empty.
  std::string left() const;
  // Its process id, as the kernels left it.
  pid_t process() const { return const_cast<Arena&>(arena_).control().process.load(); }

  std::uint32_t current() const;
  bool timed_out() const { return timed_out_; }
  // Whether the death is ours, because the control block had numbers that nobody writes there.
  bool overwritten() const { return overwritten_; }
  Death death() const;
  // Ended by a signal that neither the kernel raised nor we sent.
  bool killed_by_others() const;
  // Names of kernels that ran in this process before the current batch, and entries before. Kernels need not outlive
  // their calls.
  const std::vector<std::string>& history() const { return history_; }
  void remember(const std::string& kernel);

  // What the worker printed since the last call, the end of it if it is long.
  std::string printed();

 private:
  void ensure_zygote();
  void start();
  void end();  // of the process; returns when it is gone
  void forget();

  std::shared_ptr<Zygotes> zygotes_;
  Environment environment_;
  BellPage& bell_;
  std::shared_ptr<Zygote> zygote_;
  Arena arena_;
  Batch batch_{arena_};
  Descriptor output_;         // we read here what the worker
  Descriptor worker_output_;  // writes here
  std::uint32_t worker_ = 0;
  bool started_ = false;
  bool running_ = false;
  bool timed_out_ = false;
  bool overwritten_ = false;
  std::uint32_t posted_ = 0;  // that of the control block, where a kernel may write
  bool zygote_lost_ = false;
  std::uint32_t seen_current_ = 0;
  std::uint32_t seen_calls_ = 0;  // of its repeated ones
  // Since when the entry has run, or, where that was too long, its end has been asked for.
  std::chrono::steady_clock::time_point since_;
  std::chrono::nanoseconds queued_at_start_{0};
  // That the zygote has to end a worker, beside others that use the processors.
  static constexpr std::chrono::milliseconds kLeastPatience{5000};
  std::chrono::milliseconds patience_ = kLeastPatience;
  std::vector<std::string> history_;
};

}  // namespace assay

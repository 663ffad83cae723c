// The harness's side of its zygotes: processes that have loaded an environment's kernels and fork workers on request.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "descriptor.h"
#include "lane.h"

namespace assay {

// A zygote cannot be had; the message says why and what to do.
struct NotStarted : std::runtime_error {
  explicit NotStarted(const std::string& why, bool its_kernels_fault = false)
      : std::runtime_error(why), by_kernels(its_kernels_fault) {}
  bool by_kernels;  // its program ran, and did not live to have loaded its kernels
};

// One zygote process. Thread-safe once constructed. It ends with the object, and with the harness.
class Zygote {
 public:
  explicit Zygote(const Environment& environment);  // throws NotStarted
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // The kernel's position in the worker's table, or -1.
  int find(const std::string& schema, const std::string& table_name) const;

  // Forks a worker; its end is announced in its control block and by the bell. False if the zygote is gone.
  bool start_worker(std::uint32_t worker, int arena, int bell, int output) const;
  bool kill_worker(std::uint32_t worker) const;
  bool alive() const;
  // With its workers: for one that does not answer, because a kernel has stopped it. Then it is soon not alive.
  void kill() const;

 private:
  void start_it(const Environment& environment);
  void fork_it(const Environment& environment);
  void greet(const Environment& environment);

  Descriptor socket_;
  Descriptor output_;   // what it prints
  pid_t process_ = -1;  // no child of this process, where a program forked itself
  std::map<std::pair<std::string, std::string>, int> table_;  // (schema, name)
};

class Zygotes {
 public:
  // The zygote of this environment; started when it is first asked for, and again when it has died.
  // Throws NotStarted, at once if it has failed before.
  std::shared_ptr<Zygote> get(const Environment& environment);

  std::uint32_t next_worker() { return workers_.fetch_add(1); }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<Zygote> zygote;
    std::optional<NotStarted> failure;
    int starts = 0;
  };
  std::mutex mutex_;
  std::map<Environment, std::unique_ptr<Slot>> slots_;
  std::atomic<std::uint32_t> workers_{0};
};

}  // namespace assay

// Runs kernels in worker processes, each call twice: run A with every buffer ending at a guard page and poison 1, run B
// with every buffer starting after one and poison 2. What comes back has passed or failed every memory check.
#pragma once

#include <assay/device_timing.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../model/outcome.h"
#include "../model/task.h"

namespace assay {

// Starts worker processes; shared by all lanes. Thread-safe.
class Zygotes;
class Hangs;  // hangs.h

struct RunOptions {
  std::chrono::milliseconds time_limit{10'000};  // for one run of one kernel
  // Asked while kernels run, with the time since the tasks were posted. True ends the workers; what had run by then
  // counts. None: the time limit alone ends them.
  std::function<bool(std::chrono::steady_clock::duration)> give_up = {};
  // Who of all lanes hangs too often to be called again. None: nobody is given up.
  std::shared_ptr<Hangs> hangs = {};
};

// One lane of work with a worker process for each environment; used by one thread. Destroying it ends its workers.
class Lane {
 public:
  Lane(std::shared_ptr<Zygotes> zygotes, RunOptions options);
  ~Lane();
  Lane(Lane&&) noexcept;
  Lane& operator=(Lane&&) noexcept;

  // Hands the tasks to the workers and returns at once, so that the caller can compute references meanwhile.
  // The calls must live until collect().
  void post(std::span<const Task> tasks);
  // Of which row of the results the tasks are that are posted from now on, for RunOptions::hangs.
  void of_row(std::uint64_t row);
  // From now on nothing else runs in a process in which a kernel of this name has run.
  void keep_apart(const std::string& kernel);
  // Waits for the posted tasks; one outcome for each, in order.
  std::vector<Outcome> collect();

  std::vector<Outcome> run(std::span<const Task> tasks) {
    post(tasks);
    return collect();
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::shared_ptr<Zygotes> make_zygotes();

// main() of a worker executable hands over here when argv[1] is "worker": serves until the harness is gone.
//   --list     prints the table of kernels as JSON (describe.h) and exits
//   --blocks   prints what instrumented code it has (coverage/blocks.h) and exits
//   --zygote   forks workers on request
// `kernels` is called once, in the zygote, before the first fork: it loads libraries and returns the table.
struct WorkerTable {
  std::vector<assay_kernel> kernels;
  std::function<void()> after_fork;  // in each worker, or empty
  // What the last call reported about itself, or empty; valid until the next call.
  std::function<std::string()> information;
  std::string plugin;  // of a plugin, what it calls itself; else empty
  std::string version;
  const assay_device_timing* timing = nullptr;  // of a plugin with kernels that run on a device
};
int worker_main(int argc, char** argv,
                const std::function<WorkerTable(std::span<const std::string>)>& kernels);

}  // namespace assay

// Runs kernels in worker processes, each call twice: run A with every buffer ending at a guard page and poison 1, run B
// with every buffer starting behind one and poison 2. What comes back has passed or failed every memory check.
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

#include "../call.h"
#include "../coverage/ran_code.h"
#include "../registry/registry.h"

namespace assay {

// What one process is to do with a call beside its two runs: run it again and again in the same memory, with other data there now and
// then, with calls of another shape between, and everything as it was before each call.
struct Repeats {
  const Call* other = nullptr;      // the same call with other data
  const Call* neighbour = nullptr;  // of the same kernel with other shapes, or none
  std::uint32_t calls = 0;          // at most
  // It ends after so many calls once they have taken `enough`, and whatever their number after `most` of the processor's time, or
  // five times that of the clock on the wall.
  std::uint32_t least = 0;
  std::chrono::microseconds enough{0}, most{0};
  bool compares = true;  // each call of a kind must give the bits of the first one
};

struct Task {
  const Kernel* kernel = nullptr;
  const Call* call = nullptr;
  // The number of a tensor, inputs before outputs, that has finite numbers instead of poison where it has no elements
  // (an output: anywhere); -1: none. Then nothing is said about what is unwritten.
  int finite = -1;
  const Repeats* repeats = nullptr;  // instead of the two runs
  bool harmless = false;  // in place of the kernel, in a process as it would have: code of the worker's own (harmless.h)
};

// So begins Outcome::detail of a call that did nothing wrong but to whoever ran after it.
inline constexpr std::string_view kDamagedItsProcess = "damaged its process";

// Part of Outcome::detail of a call that came to grief after others alone, and nobody knows after which.
inline constexpr std::string_view kNotAgain = "it did not happen again in a fresh process";

using PackedResults = std::vector<std::vector<std::byte>>;  // packed row-major, one for each output

// What the calls of a task with `repeats` came to. (Not within Outcome: clang 14 does not construct a nested type with default values.)
struct RepeatedCalls {
  enum class Member : std::uint8_t { own, other, neighbour };
  std::uint32_t calls = 0;
  std::uint32_t differed =
      0;  // the call, counted from 1, that did not give what the first of its kind gave; 0: none
  Member which = Member::own;   // it was of
  Member before = Member::own;  // and the call before it
  PackedResults first_other;    // what the first call with the other data gave, if there was one
  PackedResults last;           // what the call that differed gave
  PackedResults last_neighbour;
  std::string unwritten;  // of the call that differed: "left element 0 of its output ... unwritten", or empty
};

struct Outcome {
  using Results = PackedResults;
  enum class Kind : std::uint8_t {
    ok,       // returned ASSAY_OK twice and kept to its memory
    refused,  // returned ASSAY_REFUSED; detail is its message
    failed,   // returned something else; detail is its message
    memory,   // detail says which buffer, which side, how far, read or write
    crashed,  // detail names the signal and the address
    timeout,
    not_run,  // the worker process could not be had; detail says why and what to do
  } kind = Kind::not_run;
  std::string detail;
  bool stopped = false;     // not_run: give_up said so, and nothing is known of the kernel
  bool given_up = false;    // not_run: calls before it did not return, again and again
  bool by_kernels = false;  // not_run: the process ended, hung or failed while it loaded its kernels
  bool declared = false;    // refused: the table's `refuses` said so before `run` was tried
  std::string information;  // what the kernel reported about itself (oneDNN's impl_info_str), or empty
  // What a call left changed of rounding mode, FTZ, x87 registers, the direction flag (restored); float_state.h has the bits.
  std::uint32_t changed_float_state = 0;
  std::string left;  // what it left otherwise in its process beside that, for after "left "; or empty
  std::optional<std::size_t> harmed;  // the task, as it was posted, that came to grief after this one, and does not without it
  Results outputs;                   // run A; empty unless ok
  std::optional<Results> again;      // run B, where it gave anything else, to the bit
  std::optional<Results> unwritten;  // memory, for elements that hold what they held before: run A's results

  std::shared_ptr<RanCode> ran;  // by both runs, where workers record it (coverage/runtime.h)

  // Of a task with `repeats`: `outputs` are those of its last call with its own data.
  std::optional<RepeatedCalls> repeated;

  const Results& second() const { return again ? *again : outputs; }
};

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

// A lane from within: its tasks, where they stand, and the processes that run them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lane.h"
#include "worker_process.h"
#include "zygotes.h"

namespace assay {

// Where a task stands.
struct Standing {
  std::optional<Prepared> prepared;
  std::optional<Prepared> other, neighbour;  // of repeats
  Outcome outcome;
  bool decided = false;  // the outcome is final
  bool alone = false;    // runs in a batch of its own: another call's stray write cannot hit it
  bool fresh = false;    // runs in a process that has run nothing else
  bool killed_before = false;
  std::string crash;  // how it ended its process after other calls had run there; not confirmed yet
  Outcome::Kind crash_kind = Outcome::Kind::crashed;
  std::string predecessors;
  std::vector<std::uint32_t> company;  // tasks that had run in the process in which it crashed
  std::uint32_t stray_group = kNothing;
  std::uint32_t next = kNothing;  // the task that is to follow it in the same fresh process
};

// Calls that shared a batch in which somebody wrote where nothing should be written: each runs again alone.
struct StrayGroup {
  std::uint32_t victim;  // whose buffers were hit
  std::string sentence;
  bool found = false;  // one of them did it again
};

// A call crashed after others, and did not in a fresh process: each of the others is tried before it, in one of their own. Before them
// an earlier call of its own and a harmless one are tried: whoever crashes after these has nobody else to blame.
struct BlameTrial {
  std::uint32_t victim = 0;
  std::vector<std::uint32_t> suspects;  // tasks, or kHarmlessTask
  std::size_t tried = 0;                // suspects
  bool once = false;                    // the next one has made it crash once
  std::uint32_t first = 0, second = 0;  // the tasks of the attempt that runs: a suspect, and the victim
  std::vector<std::uint32_t> guilty;    // suspects after which it crashed again
};

inline constexpr std::uint32_t kHarmlessTask = kNothing;

struct Unit {
  std::uint32_t task;
  Run first;  // Run::b: only this one is left
};

// A lane has one Side for each environment: a worker process, and the tasks that wait for it.
struct Side {
  explicit Side(std::shared_ptr<Zygotes> zygotes, const Environment& environment, BellPage& bell)
      : worker(std::move(zygotes), environment, bell) {}
  WorkerProcess worker;
  std::deque<Unit> waiting;
  std::vector<std::uint32_t> ran;         // tasks that have run in its process, of those that are posted
  std::set<std::string> vandals;          // kernels that have damaged a process: a new one follows them
  std::chrono::milliseconds settling{0};  // that threads were waited for
  bool worn = false;  // the process ends with the present batch: what a call left there may change results
};

struct Lane::State {
  State(std::shared_ptr<Zygotes> z, RunOptions o) : zygotes(std::move(z)), options(o) {}

  std::shared_ptr<Zygotes> zygotes;
  RunOptions options;
  BellPage bell;
  std::vector<std::unique_ptr<Side>> sides;
  std::deque<Standing> tasks;  // those that were posted, and copies of them for trials
  std::vector<StrayGroup> strays;
  std::uint64_t row = 0;  // that tasks are of
  std::set<std::string> apart;  // kernels that damage every process, as whoever asks has found out
  std::deque<BlameTrial> trials;
  std::size_t count = 0;  // of tasks that were posted
  bool posted = false;
  std::chrono::steady_clock::time_point posted_at{};
  std::chrono::steady_clock::time_point looked{};  // when limits were last checked

  Side& side_of(const Environment& environment);
  void enqueue(const Task& task, std::uint32_t number);
  void launch(Side& side);
  bool fill_batch(Side& side);
  void advance();
  void sleep();
  void finish_batch(Side& side);
  void bury(Side& side);
  void harvest(Side& side, std::uint32_t entries);
  void note_left(Side& side, const std::string& left);
  void take(Side& side, const Entry& entry, const EntryResult& result, std::vector<std::uint32_t>& hit);
  void take_repeats(Side& side, const Entry& entry, const EntryResult& result);
  void run_alone(Side& side, std::uint32_t victim, std::uint32_t entries);
  void conclude(Side& side, std::uint32_t task);
  void decide(Standing& p, Outcome::Kind kind, std::string detail);
  void blame_victims();
  bool gave_up(Standing& p);
  void give_up(Side& side, const NotStarted& why);
  void run_all_alone(Side& side, bool decided_too = false);
  // lane_trials.cpp
  void settle(Side& side, std::span<const Entry> entries);
  void blame_thread(Side& side, std::span<const Entry> entries);
  bool begin_trial(Side& side, std::uint32_t victim);
  void attempt(Side& side, BlameTrial& trial);
  void go_on_with_trials(Side& side);
  bool is_over() const;
  void abandon();
};

}  // namespace assay

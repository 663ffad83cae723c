// A lane from within: its tasks, where they stand, and the processes that run them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
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
  bool fresh = false;    // and in a process that has run nothing else
  bool killed_before = false;
  std::string crash;  // how it ended its process after other calls had run there; not confirmed yet
  Outcome::Kind crash_kind = Outcome::Kind::crashed;
  std::string predecessors;
  std::uint32_t stray_group = kNothing;
};

// Calls that shared a batch in which somebody wrote where nothing should be written: each runs again alone.
struct StrayGroup {
  std::uint32_t victim;  // whose buffers were hit
  std::string sentence;
  bool found = false;  // one of them did it again
};

struct Unit {
  std::uint32_t task;
  Run first;  // Run::b: only this one is left
};

// One environment's worker, and the tasks that wait for it.
struct Side {
  explicit Side(std::shared_ptr<Zygotes> zygotes, const Environment& environment, BellPage& bell)
      : worker(std::move(zygotes), environment, bell) {}
  WorkerProcess worker;
  std::deque<Unit> waiting;
  bool worn = false;  // its process has shown that results depend on what ran in it before
};

struct Lane::State {
  State(std::shared_ptr<Zygotes> z, RunOptions o) : zygotes(std::move(z)), options(o) {}

  std::shared_ptr<Zygotes> zygotes;
  RunOptions options;
  BellPage bell;
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<Standing> tasks;
  std::vector<StrayGroup> strays;
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
  void take(Side& side, const Entry& entry, const EntryResult& result, std::vector<std::uint32_t>& hit);
  void take_repeats(Side& side, const Entry& entry, const EntryResult& result);
  void run_alone(Side& side, std::uint32_t victim, std::uint32_t entries);
  void conclude(Standing& p);
  void decide(Standing& p, Outcome::Kind kind, std::string detail);
  void blame_victims();
  void give_up(Side& side, const NotStarted& why);
  void run_all_alone(Side& side);
  bool is_over() const;
  void abandon();
};

}  // namespace assay

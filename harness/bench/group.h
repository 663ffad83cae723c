// One case and everything that is timed on it, round by round, in one process and on the same memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cache_state.h"
#include "canary.h"
#include "clock.h"
#include "device.h"
#include "operands.h"
#include "sampled.h"
#include "vocabulary/case.h"
#include "vocabulary/work.h"

namespace assay {

// Runs the call and returns the kernel's status, as often as it is asked to.
using Prepared = std::function<int()>;

struct Contestant {
  assay_kernel kernel{};
  std::string contract;
  // Makes everything ready that is no part of the operator (a Python call's argument tuple). Empty: kernel.run is called.
  std::function<Prepared(const assay_call&)> prepare;
  // What ran, if the kernel does not say so itself.
  std::function<std::string()> information;
  // A share of its time for which the thread is kept busy after each batch of calls: a regression that is known, to see
  // whether it is found.
  double slowed = 0;
  // The clock it is timed by, if it runs on a device.
  std::optional<Device> device{};
};

struct GroupOptions {
  Cache cache = Cache::warm;
  bool limits = true;       // time the canaries in every round, too
  bool same_count = false;  // every contestant as many calls a round as the others
  double batch_ns = 4e5;    // how long the calls of one contestant in one round take together
  double timeout = 0;       // seconds of a call (call_limit.h)
  int threads = 1;          // that kernels were told to use
  std::uint64_t seed = 1;
};

// What became of a contestant when it was checked.
struct Checking {
  enum class Status : std::uint8_t { right, refused, wrong } status = Status::right;
  std::string reason;
  std::string information;
};

// Times of one call, a number for each round.
struct Series {
  std::vector<double> cpu;
  std::vector<double> wall;
};

struct Player;

class Group {
 public:
  // Throws CaseError for arguments that the operator does not allow. `exp` is a kernel of that operator, whose speed on 65,536
  // numbers stands for that of elementary functions; without one there is no such limit.
  Group(const Case& c, std::vector<Contestant> contestants, std::optional<assay_kernel> exp,
        const GroupOptions& options);
  ~Group();

  // Runs every contestant once and judges a sample of what it gives. Those that are not right take no further part.
  std::vector<Checking> check();

  // Times at most `rounds` rounds, and stops after `seconds` once there were enough for an interval. Before some, which nobody can
  // foresee, contestants are timed while their data change (changes.h), and what they leave then is judged.
  void measure(int rounds, double seconds);

  // Looks at the results once more: a contestant that now gives others is wrong, unless they are right, too. So is one whose calls
  // took much longer where their data had changed, and one that worked on more processors than it was told to.
  std::vector<Checking> check_again();

  const std::vector<Series>& times() const { return times_; }  // of contestants, since the group was made
  // Of the canaries: one call that moves the case's bytes (by ordinary stores and by streaming ones), one operation of a
  // fused multiply-add, one element of exp. Empty where they do not apply.
  struct Limits {
    Series stream;
    Series streaming;
    Series operation;
    Series element;
  };
  const Limits& limits() const { return limits_; }
  std::vector<std::uint64_t> calls() const;  // of each contestant, in all rounds

  const Call& call() const;
  const Work& work() const;
  std::size_t sets() const;  // of operands, in memory or on the device
  std::size_t bytes_of_set() const;

 private:
  struct State;
  void choose_calls(std::vector<Player*>& playing);
  void play_round(std::vector<Player*>& playing);
  void add_limits();
  void add_device_limits();

  std::unique_ptr<State> state_;
  std::vector<Series> times_;
  Limits limits_;
};

}  // namespace assay

// What a group holds while its contestants are timed, for group.cpp and group_limits.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "changes.h"
#include "group.h"
#include "memory_map.h"
#include "secret.h"

namespace assay {

constexpr double kMostCalls = 1e6;  // in a round
constexpr std::size_t kMostBytesChanged = std::size_t{1}
                                          << 30;  // of a call whose data change: more takes too much memory

// A kernel with the call of one set of operands.
struct Bound {
  assay_call call{};
  std::vector<char> message = std::vector<char>(512);
  std::vector<char> information = std::vector<char>(256);
  Prepared run;

  Bound(const Contestant& contestant, const Operands& operands) {
    call.size = sizeof call;
    call.argument_count = static_cast<std::uint32_t>(operands.values().size());
    call.arguments = operands.values().data();
    call.output_count = static_cast<std::uint32_t>(operands.outputs().size());
    call.outputs = operands.outputs().data();
    // The last byte stays 0, whatever a kernel writes.
    call.message_capacity = static_cast<std::uint32_t>(message.size() - 1);
    call.message = message.data();
    call.kernel = &contestant.kernel;
    call.information = information.data();
    call.information_capacity = information.size() - 1;
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
};

// One round whose data are not those of the call before (group_changed.cpp): what changes, for everybody the same, and what is then right.
struct ChangedRound {
  Call call;
  std::vector<Change> changes;  // none: all of it is different
  std::unique_ptr<SampledJudge> judge;
  std::vector<std::vector<std::size_t>> elements;  // none: any
};

// Who is timed in every round: a contestant, or a canary.
struct Player {
  std::size_t number = 0;  // of a contestant, in its group
  Contestant contestant;
  std::vector<std::unique_ptr<Bound>> bound;  // one for each set
  Checking checking;
  std::vector<std::vector<std::byte>> results;        // as they were when they were checked
  std::vector<std::vector<std::byte>> other_results;  // and with other data
  double ns = 0;                                      // of one call, roughly
  double calls_of_round = 1;
  std::uint64_t calls = 0;
  std::size_t changed_rounds = 0;
  std::vector<double> changed;     // times of one call that met other data than the call before
  std::vector<double> unchanged;   // of those that were timed beside these, and met the same: of long ones, and of who is doubted
  bool is_doubted = false;         // its calls seem to take longer where data change
  std::vector<double> processors;  // on how many it worked, in each round
  Series* series = nullptr;
  std::function<Moment(std::size_t set, double calls)> timed;
  double units = 1;  // by which a measured time is divided, besides calls
};

// That a kernel computes less where it knows the data.
std::string slower_text(double changed_ns, double usual_ns);

std::vector<std::vector<std::byte>> results_of(const Operands& set);

// Long enough to be measured, at least once; roughly what one call takes.
inline double rough_ns(const std::function<void()>& call) {
  call();
  double best = 1e300;
  for (std::int64_t n = 1;; n *= 4) {
    const Moment begin = now();
    for (std::int64_t i = 0; i < n; ++i) call();
    const Moment took = since(begin);
    best = std::min(best, took.wall / static_cast<double>(n));
    if (took.wall > 5e4) return best;
  }
}

// The same by a device's clock.
inline double rough_ns(const Device& device, const assay_call& call) {
  device.ns_of_call(call, 1);
  return std::max(1.0, device.ns_of_call(call, ASSAY_FEWEST_CALLS));
}

// The tensors of a group on its devices.
struct Held {
  Held(const std::vector<Device>& of, const Operands& operands, int copies) : devices(of) {
    for (const Device& d : devices) d.hold(operands, copies);
  }
  ~Held() {
    for (const Device& d : devices) d.release();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  const std::vector<Device>& devices;
};

struct Group::State {
  GroupOptions options;
  std::optional<Case> of;
  Call call;
  Work work;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Operands>> sets;
  std::vector<Player> players;  // contestants
  std::vector<Player> canaries;
  std::unique_ptr<SampledJudge> judge;
  std::optional<Call> other;  // with other data; see group_spots.cpp
  std::unique_ptr<SampledJudge> other_judge;
  std::optional<std::unique_ptr<ChangedRound>>
      large_round;                        // of a large call: none where nothing can be changed
  std::mt19937_64 secret{secret_seed()};  // what no kernel may foresee: when and where it is looked at
  bool others_work = false;               // a contestant's thread works on; it is not the others' doing
  std::optional<Call> small;
  std::unique_ptr<Operands> small_operands;
  std::optional<SecondLevel> second_level;
  std::optional<assay_kernel> exp;
  Call exp_call;
  std::unique_ptr<Operands> exp_operands;
  std::size_t round = 0;
  bool fits_a_cache = true;     // so that it matters what ran before
  std::vector<Device> devices;  // of the players; empty if they run on the processor
  int copies = 1;               // of the operands on a device

  // Calls that are not timed. A sentence about what is wrong, or "".
  std::string look(Player& p,
                   std::size_t set);  // in this memory, poisoned, with its own data and with other data
  void wear(const Player& p);         // as many calls in all as a run with many rounds has
  void look_at_some(std::vector<Player*>& playing);
  // Whose data change: before each call where calls are short, all of them before one call where they are long. group_changed.cpp
  void change_some(std::vector<Player*>& playing, bool for_certain);
  std::string slower_with_changes(Player& p);
  bool is_short(const Player& p) const;
  bool is_little_work() const;
  bool is_large() const;
  int change_before_each(Player& p, std::size_t set, const ChangedRound& round);  // the worst status
  int change_before_one(Player& p, std::size_t set, const ChangedRound& round);
  void as_it_left_it(const Player& p, std::size_t set, const Call& data);
  std::string fault_in(const Player& p, std::size_t set, ChangedRound& round, int status) const;
  double counted_ns(const Moment& took) const;
  // group_device.cpp. What calls that are timed on a device leave behind: there they meet tensors that were not copied for them.
  std::vector<std::vector<std::byte>> timed_results(const Player& p);
  // A sentence about what is wrong where data change between calls that are timed, or "".
  std::string changed_on_device(Player& p);
  std::unique_ptr<ChangedRound> round_of(
      std::optional<std::size_t> most);  // at most so many elements change, or all
  std::string left_at_work();  // by the contestant that ran last
  std::optional<MemoryMap> memory_map;
  void watch_memory();
  std::string memory_changed();      // by the contestant that ran last; a sentence, or ""
  // Of what somebody may have done to the process since the last look, of which nobody can be blamed any more.
  void begin_round();
  // After a contestant's turn in a round that is looked at.
  std::string process_changed();
  bool looks_at_process = false;     // in this round
  bool always_looks = false;         // in each: somebody has changed it, and nobody knows who

  // The times that count: of one thread also what its helpers did for it.
  Moment counted(const Moment& took) const {
    Moment m = took;
    if (options.threads == 1 && !others_work) m.cpu = std::max(m.cpu, m.process);
    return m;
  }
  // What the calls of a contestant have just left changed for the others; a sentence, or "". Puts it right again.
  std::string damage(std::size_t set, const Call& numbers);
  std::string damage_in_round(std::size_t set);
  std::string damage_but_to_inputs(std::size_t set);
  // After a call in the first set: whether a thread that it has left at work writes to a result. A sentence, or "".
  std::string late_write(std::uint32_t threads_before, const std::vector<std::vector<std::byte>>& results);

  bool on_device() const { return !devices.empty(); }

  void make_cold() { make_cold(sets); }
  void make_cold(std::span<const std::unique_ptr<Operands>> which) {
    for (const auto& set : which) {
      for (const auto& t : set->inputs()) flush(t);
      for (const auto& t : set->results()) flush(t);
    }
    if (options.cache == Cache::dram) return;
    for (const auto& set : which) touch(*set);
    if (!second_level) second_level.emplace();
    second_level->evict();
  }
  static void touch(const Operands& set) {
    stream(set.inputs(), {}, false);
    stream_results(set);
  }
  static void stream_results(const Operands& set) {
    std::vector<std::span<const std::byte>> results;
    for (const auto& r : set.results()) results.emplace_back(r);
    stream(results, {}, false);
  }

  // The time since `begin`, after that share of it was spent on nothing.
  static Moment idled(const Moment& begin, double slowed) {
    const double until = slowed * since(begin).cpu;
    const Moment from = now();
    while (slowed > 0 && since(from).cpu < until) {
    }
    return since(begin);
  }

  // Warm: `calls` on one set, after one that is not timed. Cold: one on each set.
  template <class Call1>
  Moment time(const Call1& call_once, std::size_t set, double calls, double slowed = 0) {
    if (options.cache == Cache::warm) {
      if (fits_a_cache) call_once(set);
      const auto n = static_cast<std::uint64_t>(calls);
      const Moment begin = now();
      for (std::uint64_t i = 0; i < n; ++i) call_once(set);
      return idled(begin, slowed);
    }
    make_cold();
    const Moment begin = now();
    for (std::size_t s = 0; s < sets.size(); ++s) call_once(s);
    return idled(begin, slowed);
  }

  std::vector<std::span<const std::byte>> inputs_read(const Operands& set) const {
    std::vector<std::span<const std::byte>> spans;
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const std::size_t count = std::holds_alternative<TensorData>(call.arguments[i]) ? 1
                                : std::holds_alternative<std::vector<TensorData>>(call.arguments[i])
                                    ? std::get<std::vector<TensorData>>(call.arguments[i]).size()
                                    : 0;
      auto left = i < work.bytes_of_argument.size() ? static_cast<std::size_t>(work.bytes_of_argument[i])
                                                    : std::size_t{0};
      for (std::size_t k = 0; k < count; ++k, ++tensor) {
        const std::span<const std::byte> whole = set.inputs()[tensor];
        spans.push_back(whole.first(std::min(whole.size(), left)));
        left -= spans.back().size();
      }
    }
    return spans;
  }

  void add_canary(Series& series, double units, std::function<Moment(std::size_t set, double calls)> timed,
                  double calls) {
    Player& p = canaries.emplace_back();
    p.series = &series;
    p.units = units;
    p.timed = std::move(timed);
    p.calls_of_round = calls;
  }
};

}  // namespace assay

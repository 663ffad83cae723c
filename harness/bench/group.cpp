#include "group.h"

#include <fmt/format.h>

#include <chrono>
#include <numeric>

#include "../generate/data.h"
#include "../run/threads.h"
#include "call_damage.h"
#include "call_limit.h"
#include "group_state.h"
#include "kept_files.h"
#include "work_of.h"

namespace assay {
namespace {

constexpr std::size_t kMostSets = 8;
constexpr std::size_t kSetsBytes = std::size_t{128} << 20;  // of all sets together, but for the first
constexpr int kFewestRounds = 8;                            // fewer give no interval
constexpr std::size_t kCopiesBytes = std::size_t{4} << 30;  // of all copies on a device

}  // namespace

Group::Group(const Case& c, std::vector<Contestant> contestants, std::optional<assay_kernel> exp,
             const GroupOptions& options)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.options = options;
  s.random.seed(options.seed);
  s.of = c;
  s.call = materialise(c);
  if (!s.call.error.empty()) throw CaseError(fmt::format("{}: {}", text(c), s.call.error));
  s.work = work_of(c);
  const std::size_t bytes = std::max<std::size_t>(Operands::bytes(s.call), 1);
  s.fits_a_cache = bytes < 2 * cache_sizes().l3;
  for (const Contestant& contestant : contestants)
    if (contestant.device && std::ranges::find(s.devices, *contestant.device) == s.devices.end())
      s.devices.push_back(*contestant.device);
  // Until a copy comes again, others have filled the device's cache twice, or it was emptied.
  if (s.on_device() && options.cache != Cache::warm) {
    const Device& device = s.devices[0];
    const std::size_t most =
        std::clamp<std::size_t>(kCopiesBytes / bytes, 2, static_cast<std::size_t>(device.most_calls()));
    const auto moved =
        static_cast<std::size_t>(std::max<std::int64_t>(s.work.bytes_read + s.work.bytes_written, 1));
    s.copies = static_cast<int>(std::clamp<std::size_t>(2 * device.cache_bytes() / moved + 2, 2, most));
  }
  const std::size_t sets = s.on_device() ? 1 : std::clamp<std::size_t>(kSetsBytes / bytes, 1, kMostSets);
  for (std::size_t i = 0; i < sets; ++i) s.sets.push_back(std::make_unique<Operands>(s.call, s.random));
  for (Contestant& contestant : contestants) {
    s.players.emplace_back();
    s.players.back().number = s.players.size() - 1;
    s.players.back().contestant = std::move(contestant);
  }
  for (Player& p : s.players) {
    for (const auto& set : s.sets) p.bound.push_back(std::make_unique<Bound>(p.contestant, *set));
    p.timed = [&s, &p](std::size_t set, double calls) {
      if (p.contestant.device) {
        const double ns = p.contestant.device->ns_of_call(p.bound[0]->call, static_cast<int>(calls)) * calls;
        return Moment{ns, ns};
      }
      return s.time([&](std::size_t at) { p.bound[at]->run(); }, set, calls, p.contestant.slowed);
    };
  }
  times_.resize(s.players.size());
  for (std::size_t i = 0; i < s.players.size(); ++i) s.players[i].series = &times_[i];
  s.exp = exp;
}

Group::~Group() = default;

const Call& Group::call() const { return state_->call; }
const Work& Group::work() const { return state_->work; }
std::size_t Group::sets() const {
  return state_->on_device() ? static_cast<std::size_t>(state_->copies) : state_->sets.size();
}
std::size_t Group::bytes_of_set() const { return Operands::bytes(state_->call); }

std::vector<std::uint64_t> Group::calls() const {
  std::vector<std::uint64_t> all;
  for (const Player& p : state_->players) all.push_back(p.calls);
  return all;
}

std::vector<std::vector<std::byte>> results_of(const Operands& set) {
  std::vector<std::vector<std::byte>> results;
  for (std::size_t o = 0; o < set.outputs().size(); ++o) results.push_back(set.packed(o));
  return results;
}

namespace {

Checking failed(Checking::Status status, std::string reason) { return {status, std::move(reason), {}}; }

}  // namespace

std::vector<Checking> Group::check() {
  State& s = *state_;
  s.judge = std::make_unique<SampledJudge>(s.call, s.secret());
  std::vector<Checking> all;
  s.left_at_work();  // what a library began when it was loaded is no contestant's doing
  s.watch_memory();
  for (Player& p : s.players) {
    const assay_kernel& k = p.contestant.kernel;
    const auto check = [&]() -> Checking {
      Bound& first = *p.bound[0];
      s.sets[0]->poison();
      const std::uint32_t threads = thread_count();
      const std::size_t files = files_open();
      const int status = [&] {
        const CallLimit limit(p.number, s.options.timeout);
        return k.refuses != nullptr && k.refuses(&first.call) != ASSAY_OK ? ASSAY_REFUSED
                                                                          : run_kernel(k, first.call);
      }();
      const std::string taken = s.memory_changed();
      if (std::string left = s.damage(0, s.call); !taken.empty() || !left.empty())
        return failed(Checking::Status::wrong, "it " + (taken.empty() ? left : taken));
      if (status != ASSAY_OK)
        return failed(status == ASSAY_REFUSED ? Checking::Status::refused : Checking::Status::wrong,
                      first.message[0] != 0 ? first.message.data() : fmt::format("it returned {}", status));
      p.results = results_of(*s.sets[0]);
      if (std::string late = s.late_write(threads, p.results); !late.empty())
        return failed(Checking::Status::wrong, std::move(late));
      const Contract contract = parse_contract(p.contestant.contract, s.call.outputs[0].computed_in);
      if (std::string fault = s.judge->fault(contract, p.results); !fault.empty())
        return failed(Checking::Status::wrong, std::move(fault));
      if (p.contestant.device) {
        const auto results = s.timed_results(p);
        if (std::string fault = s.judge->fault(contract, results); !fault.empty())
          return failed(Checking::Status::wrong, "when it is timed, " + fault);
      }
      if (std::string fault = s.look(p, 0); !fault.empty())
        return failed(Checking::Status::wrong, std::move(fault));
      if (std::string fault = s.left_at_work(); !fault.empty())
        return failed(Checking::Status::wrong, std::move(fault));
      Checking right;
      right.information = first.information.data();
      // What the library says of itself, and the kernel of this call.
      if (const std::string of_all = p.contestant.information ? p.contestant.information() : "";
          !of_all.empty())
        right.information = right.information.empty() ? of_all : of_all + "; " + right.information;
      if (const std::size_t now = files_open(); now > files)
        right.information += fmt::format("{}it left {} file descriptor{} open", right.information.empty() ? "" : "; ",
                                         now - files, now - files == 1 ? "" : "s");
      return right;
    };
    try {
      p.checking = check();
    } catch (const DeviceKernelError& error) {
      p.checking = failed(Checking::Status::wrong, fmt::format("when it is timed: {}", error.what()));
    } catch (const KernelError& error) {
      s.damage(0, s.call);  // which goes with it
      p.checking = failed(Checking::Status::wrong, error.what());
    }
    if (p.checking.status == Checking::Status::right)
      for (const auto& b : p.bound) {
        b->call.information_capacity = 0;  // nobody asks any more
        b->run = p.contestant.prepare ? p.contestant.prepare(b->call)
                                      : Prepared([&k, call = &b->call] { return run_kernel(k, *call); });
      }
    all.push_back(p.checking);
  }
  return all;
}

std::vector<Checking> Group::check_again() {
  State& s = *state_;
  const auto check = [&](Player& p) -> Checking {
    std::vector<std::vector<std::byte>> results;
    if (p.contestant.device) {
      results = s.timed_results(p);
      if (std::string fault = s.changed_on_device(p); !fault.empty())
        return failed(Checking::Status::wrong, std::move(fault));
    } else {
      s.sets[0]->poison();
      std::vector<char>& message = p.bound[0]->message;
      message[0] = 0;
      const int status = [&] {
        const CallLimit limit(p.number, s.options.timeout);
        return run_kernel(p.contestant.kernel, p.bound[0]->call);
      }();
      const std::string taken = s.memory_changed();
      if (std::string left = s.damage(0, s.call); !taken.empty() || !left.empty())
        return failed(Checking::Status::wrong, "after it was timed, it " + (taken.empty() ? left : taken));
      if (status != ASSAY_OK)
        return failed(Checking::Status::wrong, fmt::format("after it was timed, it returned {}{}{}", status,
                                                           message[0] != 0 ? ": " : "", message.data()));
      results = results_of(*s.sets[0]);
      s.wear(p);
      if (std::string fault = s.look(p, 0); !fault.empty())
        return failed(Checking::Status::wrong, "after it was timed, " + fault);
      if (std::string fault = s.slower_with_changes(p); !fault.empty())
        return failed(Checking::Status::wrong, std::move(fault));
    }
    if (results == p.results) return p.checking;
    const Contract contract = parse_contract(p.contestant.contract, s.call.outputs[0].computed_in);
    if (std::string fault = s.judge->fault(contract, results); !fault.empty())
      return failed(Checking::Status::wrong, "after it was timed, " + fault);
    return p.checking;
  };
  std::vector<Checking> all;
  if (!s.memory_changed().empty()) s.damage(0, s.call);  // nobody knows by whom: whoever it was does it again
  for (Player& p : s.players) {
    try {
      if (p.checking.status == Checking::Status::right) p.checking = check(p);
    } catch (const KernelError& error) {
      s.damage(0, s.call);  // which goes with it
      p.checking = failed(Checking::Status::wrong, fmt::format("after it was timed: {}", error.what()));
    }
    all.push_back(p.checking);
  }
  return all;
}

namespace {

// Whether the kernel did; one that fails is wrong from then on.
template <class Work>
bool survives(Player& p, const Work& work) {
  try {
    work();
    return true;
  } catch (const KernelError& error) {
    p.checking = failed(Checking::Status::wrong, fmt::format("while it was timed: {}", error.what()));
    return false;
  }
}

void drop_failed(std::vector<Player*>& playing) {
  std::erase_if(playing, [](const Player* p) { return p->checking.status != Checking::Status::right; });
}

}  // namespace

// As many as fill a batch. All may turn out to fail.
void Group::choose_calls(std::vector<Player*>& playing) {
  State& s = *state_;
  for (Player* p : playing) {
    auto limit =
        std::make_optional<CallLimit>(p->number, 2 * s.options.timeout);  // it is called twice, or in a batch
    const std::optional<Device>& device = p->contestant.device;
    const auto once = [&] {
      p->ns = device ? rough_ns(*device, p->bound[0]->call) : rough_ns([p] { p->bound[0]->run(); });
    };
    const bool lives = survives(*p, once);
    limit.reset();
    if (std::string left = s.damage_in_round(0); !left.empty() && lives)
      p->checking = failed(Checking::Status::wrong, "while it was timed, it " + left);
    if (lives && p->checking.status == Checking::Status::right)
      p->calls_of_round =
          std::clamp(s.options.batch_ns / p->ns, 1.0, device ? device->most_calls() / 1.2 : kMostCalls);
  }
  drop_failed(playing);
  if (!s.options.same_count) return;
  double least = kMostCalls;
  for (const Player* p : playing) least = std::min(least, p->calls_of_round);
  for (Player* p : playing) p->calls_of_round = least;
}

void Group::play_round(std::vector<Player*>& playing) {
  State& s = *state_;
  s.begin_round();
  s.look_at_some(playing);
  drop_failed(playing);
  s.change_some(playing, false);
  drop_failed(playing);
  std::ranges::shuffle(playing, s.random);
  // Not always as many calls, so that nothing periodic on this machine keeps in step.
  const double jitter = 0.8 + 0.4 * std::uniform_real_distribution<>()(s.random);
  const auto calls_of = [jitter](const Player& p) {
    return std::max(1.0, std::floor(p.calls_of_round * jitter));
  };
  const auto time = [&](Player& p) {
    const double expected_ns = p.ns * std::max(p.calls_of_round, static_cast<double>(s.sets.size()));
    std::optional<CallLimit> limit;
    if (!p.bound.empty())  // else it is a canary, which returns
      limit.emplace(p.number, s.options.timeout > 0 ? s.options.timeout + 10e-9 * expected_ns : 0);
    return p.timed(s.round % s.sets.size(), calls_of(p));
  };
  const auto left_by = [&s](Player& p) {
    if (p.bound.empty()) return;
    if (std::string left = s.damage_in_round(s.round % s.sets.size()); !left.empty())
      p.checking = failed(Checking::Status::wrong, "while it was timed, it " + left);
    else if (std::string changed = s.process_changed(); !changed.empty())
      p.checking = failed(Checking::Status::wrong, "while it was timed, " + changed);
  };
  // The first one finds the memory as the last one left it, as all others find it: what a set of operands is to the caches
  // takes more than one call to settle.
  Player& last = *playing.back();
  if (s.options.cache == Cache::warm && s.fits_a_cache && playing.size() > 1) {
    survives(last, [&] { time(last); });
    left_by(last);
  }
  for (Player* p : playing) {
    Moment took{};
    if (p->checking.status != Checking::Status::right) continue;
    const bool lives = survives(*p, [&] { took = time(*p); });
    left_by(*p);
    if (!lives) continue;
    took = s.counted(took);
    const bool each_set = !s.on_device() && s.options.cache != Cache::warm && p->units == 1;
    const double made = each_set ? static_cast<double>(s.sets.size()) : calls_of(*p);
    p->series->cpu.push_back(took.cpu / (made * p->units));
    p->series->wall.push_back(took.wall / (made * p->units));
    if (s.options.threads > 1 && took.wall > 0) p->processors.push_back(took.process / took.wall);
    p->calls += static_cast<std::uint64_t>(made);
  }
  drop_failed(playing);
  ++s.round;
}

void Group::measure(int rounds, double seconds) {
  State& s = *state_;
  std::vector<Player*> playing;
  for (Player& p : s.players) playing.push_back(&p);
  drop_failed(playing);
  if (playing.empty()) return;
  const Held held(s.devices, *s.sets[0], s.copies);
  if (s.round == 0) {
    choose_calls(playing);
    if (s.options.limits && !playing.empty()) add_limits();
  }
  for (Player& canary : s.canaries) playing.push_back(&canary);

  const auto begin = std::chrono::steady_clock::now();
  for (int r = 0; r < rounds && playing.size() > s.canaries.size(); ++r) {
    if (r >= kFewestRounds &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds)
      break;
    play_round(playing);
  }
}

}  // namespace assay

#include "group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "../generate/data.h"
#include "work_of.h"

namespace assay {
namespace {

constexpr std::size_t kMostSets = 8;
constexpr std::size_t kSetsBytes = std::size_t{128} << 20;    // of all sets together, but for the first
constexpr std::size_t kStreamingFrom = std::size_t{4} << 20;  // bytes of results for which streaming is tried
constexpr double kMostCalls = 1e6;
constexpr int kFewestRounds = 8;              // fewer give no interval
constexpr std::int64_t kExpElements = 65536;  // so many that the call itself counts for nothing
constexpr double kCanaryNs = 5e4;
constexpr std::size_t kCopiesBytes = std::size_t{4} << 30;  // of all copies on a device

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
    call.message_capacity = static_cast<std::uint32_t>(message.size());
    call.message = message.data();
    call.kernel = &contestant.kernel;
    call.information = information.data();
    call.information_capacity = information.size();
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
};

struct Player {
  Contestant contestant;
  std::vector<std::unique_ptr<Bound>> bound;  // one for each set
  Checking checking;
  std::vector<std::vector<std::byte>> results;  // as they were when they were checked
  double ns = 0;                                // of one call, roughly
  double calls_of_round = 1;
  std::uint64_t calls = 0;
  Series* series = nullptr;
  std::function<Moment(std::size_t set, double calls)> timed;
  double units = 1;  // by which a measured time is divided, besides calls
};

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

}  // namespace

struct Group::State {
  GroupOptions options;
  Call call;
  Work work;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Operands>> sets;
  std::vector<Player> players;  // contestants
  std::vector<Player> canaries;
  std::unique_ptr<SampledJudge> judge;
  std::optional<SecondLevel> second_level;
  std::optional<assay_kernel> exp;
  Call exp_call;
  std::unique_ptr<Operands> exp_operands;
  std::size_t round = 0;
  bool fits_a_cache = true;     // so that it matters what ran before
  std::vector<Device> devices;  // of the players; empty if they run on the processor
  int copies = 1;               // of the operands on a device

  bool on_device() const { return !devices.empty(); }

  void make_cold() {
    for (const auto& set : sets) {
      for (const auto& t : set->inputs()) flush(t);
      for (const auto& t : set->results()) flush(t);
    }
    if (options.cache == Cache::dram) return;
    for (const auto& set : sets) touch(*set);
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
    const double until = slowed * (now().cpu - begin.cpu);
    const double from = now().cpu;
    while (slowed > 0 && now().cpu - from < until) {
    }
    return now() - begin;
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

Group::Group(const Case& c, std::vector<Contestant> contestants, std::optional<assay_kernel> exp,
             const GroupOptions& options)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.options = options;
  s.random.seed(options.seed);
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

namespace {

std::vector<std::vector<std::byte>> results_of(const Operands& set) {
  std::vector<std::vector<std::byte>> results;
  for (std::size_t o = 0; o < set.outputs().size(); ++o) results.push_back(set.packed(o));
  return results;
}

Checking failed(Checking::Status status, std::string reason) { return {status, std::move(reason), {}}; }

}  // namespace

std::vector<Checking> Group::check() {
  State& s = *state_;
  s.judge = std::make_unique<SampledJudge>(s.call);
  std::vector<Checking> all;
  for (Player& p : s.players) {
    const assay_kernel& k = p.contestant.kernel;
    const auto check = [&]() -> Checking {
      Bound& first = *p.bound[0];
      if (k.refuses != nullptr && k.refuses(&first.call) != ASSAY_OK)
        return failed(Checking::Status::refused, first.message.data());
      s.sets[0]->poison();
      const int status = k.run(&first.call);
      if (status != ASSAY_OK)
        return failed(status == ASSAY_REFUSED ? Checking::Status::refused : Checking::Status::wrong,
                      first.message[0] != 0 ? first.message.data() : fmt::format("it returned {}", status));
      p.results = results_of(*s.sets[0]);
      const Contract contract = parse_contract(p.contestant.contract, s.call.outputs[0].computed_in);
      if (std::string fault = s.judge->fault(contract, p.results); !fault.empty())
        return failed(Checking::Status::wrong, std::move(fault));
      Checking right;
      right.information = first.information.data();
      if (right.information.empty() && p.contestant.information)
        right.information = p.contestant.information();
      return right;
    };
    p.checking = check();
    if (p.checking.status == Checking::Status::right)
      for (const auto& b : p.bound) {
        b->call.information_capacity = 0;  // nobody asks any more
        b->run = p.contestant.prepare ? p.contestant.prepare(b->call)
                                      : Prepared([run = k.run, call = &b->call] { return run(call); });
      }
    all.push_back(p.checking);
  }
  return all;
}

// What calls that are timed on a device leave behind: there they meet tensors that were not copied for them.
std::vector<std::vector<std::byte>> Group::timed_results(std::size_t player) {
  State& s = *state_;
  Player& p = s.players[player];
  s.sets[0]->poison();
  const Held held(s.devices, *s.sets[0], 1);
  p.contestant.device->ns_of_call(p.bound[0]->call, 1);
  p.contestant.device->fetch(*s.sets[0]);
  return results_of(*s.sets[0]);
}

std::vector<Checking> Group::check_again() {
  State& s = *state_;
  std::vector<Checking> all;
  for (Player& p : s.players) {
    if (p.checking.status == Checking::Status::right) {
      s.sets[0]->poison();
      const bool on_device = p.contestant.device.has_value();
      const int status = on_device ? ASSAY_OK : p.contestant.kernel.run(&p.bound[0]->call);
      const std::vector<std::vector<std::byte>> results =
          on_device ? timed_results(static_cast<std::size_t>(&p - s.players.data())) : results_of(*s.sets[0]);
      if (status != ASSAY_OK)
        p.checking =
            failed(Checking::Status::wrong, fmt::format("after it was timed, it returned {}", status));
      else if (results != p.results) {
        const Contract contract = parse_contract(p.contestant.contract, s.call.outputs[0].computed_in);
        if (std::string fault = s.judge->fault(contract, results); !fault.empty())
          p.checking = failed(Checking::Status::wrong, "after it was timed, " + fault);
      }
    }
    all.push_back(p.checking);
  }
  return all;
}

namespace {

// Long enough to be measured, at least once; roughly what one call takes.
double rough_ns(const std::function<void()>& call) {
  call();
  double best = 1e300;
  for (std::int64_t n = 1;; n *= 4) {
    const Moment begin = now();
    for (std::int64_t i = 0; i < n; ++i) call();
    const Moment took = now() - begin;
    best = std::min(best, took.wall / static_cast<double>(n));
    if (took.wall > 5e4) return best;
  }
}

// The same by a device's clock.
double rough_ns(const Device& device, const assay_call& call) {
  constexpr int kCalls = 4;
  device.ns_of_call(call, 1);
  return std::max(1.0, device.ns_of_call(call, kCalls));
}

}  // namespace

void Group::measure(int rounds, double seconds) {
  State& s = *state_;
  std::vector<Player*> playing;
  for (Player& p : s.players)
    if (p.checking.status == Checking::Status::right) playing.push_back(&p);
  if (playing.empty()) return;
  const Held held(s.devices, *s.sets[0], s.copies);
  if (s.round == 0) {
    for (Player* p : playing) {
      const std::optional<Device>& device = p->contestant.device;
      p->ns = device ? rough_ns(*device, p->bound[0]->call) : rough_ns([p] { p->bound[0]->run(); });
      p->calls_of_round =
          std::clamp(s.options.batch_ns / p->ns, 1.0, device ? device->most_calls() / 1.2 : kMostCalls);
    }
    if (s.options.same_count) {
      double least = kMostCalls;
      for (const Player* p : playing) least = std::min(least, p->calls_of_round);
      for (Player* p : playing) p->calls_of_round = least;
    }
    if (s.options.limits) add_limits();
  }
  for (Player& canary : s.canaries) playing.push_back(&canary);

  const auto begin = std::chrono::steady_clock::now();
  for (int r = 0; r < rounds; ++r, ++s.round) {
    if (r >= kFewestRounds &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds)
      break;
    std::ranges::shuffle(playing, s.random);
    // Not always as many calls, so that nothing periodic on this machine keeps in step.
    const double jitter = 0.8 + 0.4 * std::uniform_real_distribution<>()(s.random);
    const auto calls_of = [jitter](const Player& p) {
      return std::max(1.0, std::floor(p.calls_of_round * jitter));
    };
    // The first one finds the memory as the last one left it, as all others find it: what a set of operands is to the caches
    // takes more than one call to settle.
    if (s.options.cache == Cache::warm && s.fits_a_cache && playing.size() > 1)
      playing.back()->timed(s.round % s.sets.size(), calls_of(*playing.back()));
    for (Player* p : playing) {
      const double calls = calls_of(*p);
      const Moment took = p->timed(s.round % s.sets.size(), calls);
      const bool each_set = !s.on_device() && s.options.cache != Cache::warm && p->units == 1;
      const double made = each_set ? static_cast<double>(s.sets.size()) : calls;
      p->series->cpu.push_back(took.cpu / (made * p->units));
      p->series->wall.push_back(took.wall / (made * p->units));
      p->calls += static_cast<std::uint64_t>(made);
    }
  }
}

// On a device the plainest kernels take as many bytes, in as many places, and operations for a tenth of a millisecond.
void Group::add_device_limits() {
  State& s = *state_;
  const Device device = s.devices[0];
  const auto read = static_cast<std::uint64_t>(s.work.bytes_read),
             written = static_cast<std::uint64_t>(s.work.bytes_written);
  const int copies = s.copies;
  const auto stream_ns = [device, read, written, copies](double calls) {
    return device.ns_of_stream(read, written, copies, static_cast<int>(calls)) * calls;
  };
  const double calls =
      std::clamp(s.options.batch_ns / 4 / std::max(1.0, stream_ns(1)), 1.0, device.most_calls() / 1.2);
  s.add_canary(
      limits_.stream, 1,
      [stream_ns](std::size_t, double n) {
        const double ns = stream_ns(n);
        return Moment{ns, ns};
      },
      calls);
  const Dtype dtype = s.call.outputs[0].computed_in;
  const std::int64_t bits =
      s.call.outputs[0].dtype == Dtype::f16 || s.call.outputs[0].dtype == Dtype::bf16 ? 16 : 32;
  const assay_arithmetic which = dtype == Dtype::f64 ? ASSAY_FMA_F64
                                 : bits == 16        ? ASSAY_MATRIX_16
                                                     : ASSAY_FMA_F32;
  constexpr double kFirst = 1e6;
  const Device::Burst first = device.burst(which, kFirst);
  const double wanted = std::max(kFirst, first.operations * 2 * kCanaryNs / std::max(1.0, first.ns));
  s.add_canary(
      limits_.operation, 1,
      [device, which, wanted](std::size_t, double) {
        const Device::Burst b = device.burst(which, wanted);
        return Moment{b.ns / b.operations, b.ns / b.operations};
      },
      1);
}

void Group::add_limits() {
  State& s = *state_;
  if (s.on_device()) return add_device_limits();
  std::vector<std::vector<std::span<const std::byte>>> inputs;
  std::size_t written = 0;
  for (const auto& set : s.sets) inputs.push_back(s.inputs_read(*set));
  for (const auto& r : s.sets[0]->results()) written += r.size();
  for (const bool streaming : {false, true}) {
    if (streaming && written < kStreamingFrom) continue;
    const auto once = [&s, inputs, streaming](std::size_t set) {
      stream(inputs[set], s.sets[set]->results(), streaming);
    };
    const double calls = std::clamp(s.options.batch_ns / 4 / rough_ns([&] { once(0); }), 1.0, kMostCalls);
    s.add_canary(
        streaming ? limits_.streaming : limits_.stream, 1,
        [&s, once](std::size_t set, double n) { return s.time(once, set, n); }, calls);
  }
  const bool doubles = s.call.outputs[0].computed_in == Dtype::f64;
  const auto burst = doubles ? multiply_add_f64 : multiply_add_f32;
  const double of_one = burst(1);
  const auto repeats = static_cast<std::int64_t>(kCanaryNs / (rough_ns([&] { burst(1000); }) / 1000)) + 1;
  s.add_canary(
      limits_.operation, of_one * static_cast<double>(repeats),
      [burst, repeats](std::size_t, double) {
        const Moment begin = now();
        burst(repeats);
        return now() - begin;
      },
      1);
  if (!s.exp || s.work.operations.functions == 0) return;
  s.exp_call = materialise(parse_case(fmt::format("exp:{}:self={}", doubles ? "f64" : "f32", kExpElements)));
  s.exp_operands = std::make_unique<Operands>(s.exp_call, s.random);
  Contestant contestant;
  contestant.kernel = *s.exp;
  auto bound = std::make_shared<Bound>(contestant, *s.exp_operands);
  bound->call.information_capacity = 0;
  bound->call.kernel = &*s.exp;
  const auto run = [bound, kernel = s.exp->run] { return kernel(&bound->call); };
  const auto calls = static_cast<std::int64_t>(kCanaryNs / rough_ns(run)) + 1;
  const auto elements = static_cast<double>(s.exp_call.outputs[0].shape[0]);
  s.add_canary(
      limits_.element, elements * static_cast<double>(calls),
      [run, calls](std::size_t, double) {
        run();
        const Moment begin = now();
        for (std::int64_t i = 0; i < calls; ++i) run();
        return now() - begin;
      },
      1);
}

}  // namespace assay

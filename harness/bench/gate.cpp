#include "gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "../plugin/private_copy.h"
#include "../registry/parts.h"
#include "gate_outcome.h"
#include "gate_subjects.h"
#include "same_code.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr int kRounds[] = {40, 120, 480, 1280, 3840};  // more only while it is not clear
constexpr double kPrecise = 0.5;  // half of such a process's interval, as a share of the threshold
constexpr double kPatience = 2;  // as many times longer rounds go on where the median is beyond the threshold

}  // namespace

struct Gate::State {
  GateOptions options;
  std::string program;
  Registry registry;  // of the candidate
  Registry base_registry;
  Modules modules;
  int candidate_module, base_module, second_module;
  std::vector<GateSubject> subjects;
  std::map<int, Placement> placements;
  std::optional<Session> session;
  int session_threads = 0;
  bool session_reversed = false;
  std::optional<CodeComparison> code;

  State(const GateOptions& o, std::string path)
      : options(o), program(std::move(path)), registry(program), base_registry(program), modules(program) {
    if (options.candidate.empty()) options.candidate = kernel_library(program, "cpu");
    options.candidate = std::filesystem::absolute(options.candidate).string();
    registry.add_plugin(options.candidate);
    options.base = std::filesystem::absolute(options.base).string();
    base_registry.add_plugin(options.base);
    candidate_module = modules.add(options.candidate);
    base_module = modules.add_again(options.base);
    second_module = modules.add_again(options.base);
    subjects = gate_subjects(options, registry, base_registry);
  }

  Session& process(int threads, bool reversed = false) {
    if (!session || session_threads != threads || session_reversed != reversed) {
      session.reset();
      session.emplace(modules, placement(threads), threads, std::vector<std::string>{},
                      reversed ? Session::Loading::copies_reversed : Session::Loading::copies,
                      options.bench.stop);
      session_threads = threads;
      session_reversed = reversed;
    }
    return *session;
  }

  const Placement& placement(int threads) {
    const auto found = placements.find(threads);
    if (found != placements.end()) return found->second;
    return placements.emplace(threads, choose_placement(options.bench.cpus, options.bench.node, threads))
        .first->second;
  }

  struct Side {
    int module;
    const Kernel* kernel;
    double slowed = 0;
  };
  // Why a kernel was not timed; empty if it was.
  struct Trouble {
    std::string reason;
    bool refused = false;
    bool unknown = false;  // nothing is known of the kernel
    explicit operator bool() const { return !reason.empty(); }
  };
  // What was measured of two kernels, the second over the first.
  struct Pair {
    Trouble first, second;  // if there is one, nothing was
    bool timed() const { return !first && !second; }
    std::vector<double> logarithms;
    double contention = 1;
    double threshold = kThreshold;
    Estimate ns;
    Json opened;
  };

  Json open_request(const GateSubject& s, const std::vector<Side>& sides, std::uint64_t seed) const {
    Json kernels = Json::array();
    for (const Side& side : sides)
      kernels.push_back({{"module", side.module},
                         {"schema", side.kernel->schema},
                         {"name", side.kernel->table_name},
                         {"shown", side.kernel->name},
                         {"contract", side.kernel->contract},
                         {"slowed", side.slowed}});
    return {{"do", "open"},
            {"case", text(s.bench_case->c)},
            {"cache", name(s.cache)},
            {"limits", false},
            {"same_count", true},
            {"batch_ns", 4e5},
            {"seed", seed},
            {"timeout", options.bench.timeout},
            {"threads", s.threads},
            {"kernels", std::move(kernels)}};
  }

  static Trouble trouble_of(const Json& checked) {
    if (checked["status"] == "right") return {};
    return {checked["reason"].get<std::string>(), checked["status"] == "refused"};
  }

  // In a process that nobody else is timed in: what it does there is its own doing.
  Trouble alone(const GateSubject& s, const Side& side) {
    session.reset();
    try {
      const double patience = kOpenSeconds + 3 * options.bench.timeout;
      Session& process_ = process(s.threads);
      if (const Trouble t =
              trouble_of(process_.ask(open_request(s, {side}, options.bench.seed), patience)["kernels"][0]))
        return t;
      const double seconds = options.bench.seconds;
      process_.ask({{"do", "measure"}, {"rounds", *std::rbegin(kRounds)}, {"seconds", seconds}},
                   patience + 20 * seconds);
      return trouble_of(process_.ask({{"do", "close"}}, patience)["kernels"][0]);
    } catch (const SessionDied& died) {
      session.reset();
      return {died.what()};
    } catch (const SessionError& error) {
      return {error.what(), false, true};
    }
  }

  // How long rounds go on in a process: until its interval lies on one side of the threshold, or, where its median is to be
  // compared with those of other processes, until that is known; and no longer than the options say.
  enum class Until : std::uint8_t { decided, precise };
  static bool enough(const std::vector<double>& logarithms, double threshold, Until until) {
    const Estimate e = median_interval(logarithms);
    if (until == Until::decided) return decide(e, threshold) != SpeedVerdict::ambiguous;
    return std::max(e.high - e.median, e.median - e.low) <= kPrecise * threshold;
  }

  // What has not been decided, and looks like a finding.
  static bool is_suspect(const Pair& pair) {
    return std::fabs(median_interval(pair.logarithms).median) > std::log1p(pair.threshold);
  }

  Pair time(const GateSubject& s, const Side& first, const Side& second, std::uint64_t seed, Until until,
            bool reversed) {
    Pair pair;
    Session& process_ = process(s.threads, reversed);
    pair.opened = process_.ask(open_request(s, {first, second}, seed), kOpenSeconds);
    pair.first = trouble_of(pair.opened["kernels"][0]);
    pair.second = trouble_of(pair.opened["kernels"][1]);
    if (!pair.timed()) return pair;
    const bool dram = s.cache == Cache::dram || pair.opened["bytes_of_set"] > cache_sizes().l3;
    pair.threshold = dram ? kThresholdDram : kThreshold;
    const char* const clock = s.threads > 1 ? "wall" : "cpu";
    std::vector<double> a, b, cpu, wall;
    double seconds = dram ? options.dram_seconds : options.bench.seconds;
    bool patient = false;
    for (const int rounds : kRounds) {
      const auto begin = std::chrono::steady_clock::now();
      const Json times = process_.ask({{"do", "measure"}, {"rounds", rounds}, {"seconds", seconds}},
                                      kOpenSeconds + 20 * seconds);
      seconds -= std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const auto append = [](std::vector<double>& to, const Json& list) {
        for (const Json& x : list) to.push_back(x);
      };
      append(a, times["kernels"][0][clock]);
      append(b, times["kernels"][1][clock]);
      append(cpu, times["kernels"][1]["cpu"]);
      append(wall, times["kernels"][1]["wall"]);
      pair.logarithms = log_ratios(a, b);
      if (enough(pair.logarithms, pair.threshold, until)) break;
      if (seconds <= 0) {
        if (patient || until != Until::decided || !is_suspect(pair)) break;
        patient = true;
        seconds += kPatience * (dram ? options.dram_seconds : options.bench.seconds);
      }
    }
    pair.ns = median_interval(b);
    pair.contention = median_interval(wall).median / median_interval(cpu).median;
    const Json closed = process_.ask({{"do", "close"}}, kOpenSeconds);
    pair.first = trouble_of(closed["kernels"][0]);
    pair.second = trouble_of(closed["kernels"][1]);
    return pair;
  }

  // Each process has copies of the libraries of its own, and they are loaded in turn in one order and the other.
  GateOutcome judge(const GateSubject& s, const Side& first, const Side& second, std::uint64_t seed,
                    Pair& pair) {
    pair = time(s, first, second, seed, Until::decided, false);
    if (!pair.timed()) return {};
    return confirm(outcome_of(pair.logarithms, pair.threshold),
                   [&](std::size_t n) -> std::optional<std::vector<double>> {
                     session.reset();
                     const Pair again = time(s, first, second, seed + n, Until::precise, n % 2 == 1);
                     if (again.timed()) return again.logarithms;
                     pair.first = again.first;
                     pair.second = again.second;
                     return std::nullopt;
                   });
  }

  // A library that the candidate is linked with and the baseline with another build of it, or is not; or "".
  std::string other_helper() const {
    const std::vector<HelperLibrary>&ours = keep_private(options.candidate), &theirs = keep_private(options.base);
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
      if (i >= theirs.size()) return ours[i].name;
      if (i >= ours.size() || ours[i].name != theirs[i].name || ours[i].digest != theirs[i].digest)
        return theirs[i].name;
    }
    return {};
  }

  // Whether the code is the same; or `unseen` becomes why that cannot be said. Asks where the two kernels begin in their files, and
  // what they refuse by.
  bool same_machine_code(const GateSubject& s, std::string& unseen) {
    const Json where = process(s.threads).ask(
        {{"do", "entries"},
         {"kernels",
          Json::array(
              {{{"module", candidate_module},
                {"schema", s.candidate->schema},
                {"name", s.candidate->table_name}},
               {{"module", base_module}, {"schema", s.base->schema}, {"name", s.base->table_name}}})}},
        60)["entries"];
    if (where[0].is_null() || where[1].is_null()) {
      unseen = "a kernel with a context of its own is not only its code";
      return false;
    }
    if (where[0].size() != where[1].size()) return false;
    if (const std::string other = other_helper(); !other.empty()) {
      unseen = fmt::format("{}, which it is linked with, is another build", other);
      return false;
    }
    if (!code) code.emplace(private_copy_of(options.candidate), private_copy_of(options.base));
    for (std::size_t i = 0; i < where[0].size(); ++i) {
      unseen = code->unseen(where[0][i], where[1][i]);
      if (!unseen.empty() || !code->same(where[0][i], where[1][i])) return false;
    }
    return true;
  }
};

Gate::Gate(const GateOptions& options, std::string program)
    : state_(std::make_unique<State>(options, std::move(program))) {}
Gate::~Gate() = default;

const std::vector<GateSubject>& Gate::subjects() const { return state_->subjects; }

nlohmann::json Gate::machine_limits() {
  return state_->process(state_->options.bench.threads.front()).ask({{"do", "bandwidths"}}, 120)["limits"];
}

BenchRow Gate::compare(const GateSubject& s) {
  BenchRow row;
  row.op = std::string(s.bench_case->c.op->schema.name);
  row.case_text = text(s.bench_case->c);
  row.impl = s.candidate->table_name;
  row.cache = name(s.cache);
  row.threads = s.threads;
  row.shape = s.bench_case->reason;
  if (s.base == nullptr) {
    row.reason = "the baseline has no such kernel";
    return row;
  }
  State& state = *state_;
  const State::Side base{state.base_module, s.base}, candidate{state.candidate_module, s.candidate};
  // Whose fault it is: where only the baseline is not right, nothing is known against the candidate.
  const auto blame = [&](const State::Trouble& of_base, const State::Trouble& of_candidate) {
    const auto known = [](const State::Trouble& t) { return t && !t.unknown; };
    row.status = BenchStatus::not_run;
    if (known(of_candidate)) {
      row.status = of_candidate.refused ? BenchStatus::refused : BenchStatus::failed;
      row.reason = of_candidate.reason;
      if (known(of_base))
        row.reason += fmt::format(" (the baseline {}, too: {})", of_base.refused ? "refuses it" : "fails",
                                  of_base.reason);
    } else if (known(of_base)) {
      row.reason = fmt::format("nothing to compare with: the baseline {}: {}",
                               of_base.refused ? "refuses it" : "fails", of_base.reason);
    } else {
      row.reason = (of_candidate ? of_candidate : of_base).reason;
    }
  };
  try {
    std::string unseen;
    if (state.options.skip_unchanged && state.same_machine_code(s, unseen)) {
      constexpr double kUntimed = std::numeric_limits<double>::quiet_NaN();
      row.reason = "the same machine code in both";
      row.gate.emplace();
      row.gate->verdict = SpeedVerdict::unchanged;
      row.gate->ratio = {kUntimed, kUntimed, kUntimed};  // nothing was timed
      row.gate->detectable = kUntimed;
      return row;
    }
    State::Pair pair;
    GateOutcome outcome = state.judge(s, base, candidate, state.options.bench.seed, pair);
    outcome.unseen = unseen;
    row.dtype = pair.opened.value("dtype", "");
    if (!pair.timed()) {
      blame(pair.first, pair.second);
      return row;
    }
    row.status = BenchStatus::measured;
    row.clock = s.threads > 1 ? "wall" : "cpu";
    row.rounds = pair.logarithms.size();
    row.ns = pair.ns;
    row.contention = pair.contention;
    row.bytes = pair.opened["bytes"];
    row.operations = pair.opened["operations"];
    row.functions = pair.opened["functions"];
    row.gate = outcome;
  } catch (const SessionDied& died) {
    state.session.reset();
    // Where nobody knows whose doing it was, each is tried alone.
    const bool known = died.kernel && !died.by_others;
    const State::Trouble it_did{died.what()};
    const State::Trouble of_candidate = known && died.kernel == 1 ? it_did : state.alone(s, candidate),
                         of_base = !known             ? state.alone(s, base)
                                   : died.kernel == 0 ? it_did
                                                      : State::Trouble{};
    if (of_candidate || of_base)
      blame(of_base, of_candidate);
    else
      blame({}, {fmt::format("{}, with both of them in it; with either alone it does not", died.what()),
                 false, died.by_others});
  } catch (const SessionError& error) {
    row.status = BenchStatus::not_run;
    row.reason = error.what();
  }
  return row;
}

void Gate::try_canary(const GateSubject& s, Canary& canary) {
  State& state = *state_;
  if (s.base == nullptr) return;
  State::Pair pair;
  GateOutcome o;
  bool tried = false;
  try {
    o = state.judge(s, {state.base_module, s.base}, {state.second_module, s.base},
                    state.options.bench.seed + 7, pair);
    tried = pair.timed();
  } catch (const SessionDied&) {
    state.session.reset();
  } catch (const SessionError&) {  // it is no trial
  }
  if (!tried) {
    ++canary.without;
    return;
  }
  ++canary.trials;
  canary.alarms += o.confirmed ? 1 : 0;
}

GateOutcome Gate::trial(const GateSubject& s, double slowed, std::uint64_t seed) {
  State& state = *state_;
  State::Pair pair;
  GateOutcome o;
  try {
    o = state.judge(s, {state.base_module, s.base}, {state.second_module, s.base, slowed}, seed, pair);
  } catch (const SessionDied&) {
    state.session.reset();
    throw;
  }
  if (!pair.timed()) throw SessionError(pair.first ? pair.first.reason : pair.second.reason);
  return o;
}

}  // namespace assay

#include "gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "../verify/verify.h"
#include "same_code.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr int kRounds[] = {40, 120, 480, 1280, 3840};  // more only while it is not clear
constexpr int kProcesses = 8;                          // at most, in which a finding is tried again
constexpr double kOpenSeconds = 300;

bool own_kernel(const Kernel& k, const std::string& library) {
  const std::vector<std::string>& a = k.environment.arguments;
  return a.size() == 2 && a[0] == "--plugin" && a[1] == library;
}

std::vector<const Kernel*> kernels_of(const Registry& registry, const std::string& library) {
  std::vector<const Kernel*> all;
  for (const Kernel& k : registry.kernels())
    if (own_kernel(k, library)) all.push_back(&k);
  return all;
}

int level_of(const Kernel& k) {
  constexpr std::string_view kLevels[] = {"baseline", "sse41", "avx2", "avx512", "amx"};
  for (int i = 4; i >= 0; --i)
    if (k.table_name.find(kLevels[i]) != std::string::npos) return i;
  return -1;
}

}  // namespace

struct Gate::State {
  GateOptions options;
  std::string program;
  Registry registry;  // of the candidate
  Registry base_registry;
  Modules modules;
  int candidate_module, base_module, second_module;
  std::vector<Subject> subjects;
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
    find_subjects();
  }

  void find_subjects() {
    const std::vector<const Kernel*> theirs = kernels_of(base_registry, options.base);
    std::vector<const Kernel*> ours = kernels_of(registry, options.candidate);
    for (const int threads : options.bench.threads)
      for (const Cache cache : options.bench.caches)
        for (const BenchCase& bench_case : options.bench.cases)
          for (const Kernel* k : chosen(ours, *bench_case.c.op)) {
            const auto base = std::ranges::find_if(
                theirs, [&](const Kernel* b) { return b->op == k->op && b->table_name == k->table_name; });
            subjects.push_back({&bench_case, k, base == theirs.end() ? nullptr : *base, cache, threads});
          }
  }

  // Those that --impl names, or of each the one with the widest vectors that runs here.
  std::vector<const Kernel*> chosen(const std::vector<const Kernel*>& all, const Operator& op) const {
    std::vector<const Kernel*> some;
    for (const Kernel* k : all)
      if (k->op == &op && k->unavailable.empty() &&
          (selects(options.bench.impls, k->table_name) || selects(options.bench.impls, k->name)))
        some.push_back(k);
    if (!options.bench.impls.empty()) return some;
    int widest = -1;
    for (const Kernel* k : some) widest = std::max(widest, level_of(*k));
    std::erase_if(some, [&](const Kernel* k) { return level_of(*k) >= 0 && level_of(*k) < widest; });
    return some;
  }

  Session& process(int threads, bool reversed = false) {
    if (!session || session_threads != threads || session_reversed != reversed) {
      session.reset();
      session.emplace(modules, placement(threads), threads, std::vector<std::string>{},
                      reversed ? Session::Loading::copies_reversed : Session::Loading::copies);
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
  // What was measured of two kernels, the second over the first.
  struct Pair {
    std::string failure;  // why nothing was
    bool refused = false;
    std::vector<double> logarithms;
    double contention = 1;
    double threshold = kThreshold;
    Estimate ns;
    Json opened;
  };

  Pair time(const Subject& s, const Side& first, const Side& second, std::uint64_t seed, int more,
            bool reversed) {
    Json kernels = Json::array();
    for (const Side* side : {&first, &second})
      kernels.push_back({{"module", side->module},
                         {"schema", side->kernel->schema},
                         {"name", side->kernel->table_name},
                         {"contract", side->kernel->contract},
                         {"slowed", side->slowed}});
    Pair pair;
    Session& process_ = process(s.threads, reversed);
    pair.opened = process_.ask({{"do", "open"},
                                {"case", text(s.bench_case->c)},
                                {"cache", name(s.cache)},
                                {"limits", false},
                                {"same_count", true},
                                {"batch_ns", 4e5},
                                {"seed", seed},
                                {"timeout", options.bench.timeout},
                                {"kernels", kernels}},
                               kOpenSeconds);
    for (const Json& k : pair.opened["kernels"])
      if (k["status"] != "right") {
        pair.refused = k["status"] == "refused";
        pair.failure = k["reason"];
        return pair;
      }
    const bool dram = s.cache == Cache::dram || pair.opened["bytes_of_set"] > cache_sizes().l3;
    pair.threshold = dram ? kThresholdDram : kThreshold;
    const char* const clock = s.threads > 1 ? "wall" : "cpu";
    std::vector<double> a, b, cpu, wall;
    double seconds = options.bench.seconds;
    for (const int rounds : kRounds) {
      const auto begin = std::chrono::steady_clock::now();
      const Json times = process_.ask({{"do", "measure"}, {"rounds", rounds * more}, {"seconds", seconds}},
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
      if (decide(median_interval(pair.logarithms), pair.threshold) != GateOutcome::Verdict::ambiguous ||
          seconds <= 0)
        break;
    }
    pair.ns = median_interval(b);
    pair.contention = median_interval(wall).median / median_interval(cpu).median;
    const Json closed = process_.ask({{"do", "close"}}, kOpenSeconds);
    for (const Json& k : closed["kernels"])
      if (k["status"] != "right") pair.failure = k["reason"];
    return pair;
  }

  static GateOutcome outcome_of(const Pair& pair) {
    GateOutcome o;
    const Estimate e = median_interval(pair.logarithms);
    o.verdict = decide(e, pair.threshold);
    o.ratio = {std::exp(e.median), std::exp(e.low), std::exp(e.high)};
    o.detectable = detectable_effect(pair.logarithms, pair.threshold);
    o.threshold = pair.threshold;
    o.rounds = pair.logarithms.size();
    return o;
  }

  // What is found in one process must hold in several: the same code differs by where it comes to lie, calls of less than a
  // microsecond by some percent. Each process has copies of the libraries of its own, and they are loaded in turn in one order and
  // the other. The first one, in which something was found, does not count.
  GateOutcome judge(const Subject& s, const Side& first, const Side& second, std::uint64_t seed, Pair& pair) {
    pair = time(s, first, second, seed, 1, false);
    if (!pair.failure.empty()) return {};
    GateOutcome o = outcome_of(pair);
    if (o.verdict != GateOutcome::Verdict::regressed && o.verdict != GateOutcome::Verdict::improved) return o;
    std::vector<double> medians;
    std::string said;
    for (int n = 1; n <= kProcesses; ++n) {
      session.reset();
      const Pair again = time(s, first, second, seed + static_cast<std::uint64_t>(n), 1, n % 2 == 1);
      if (!again.failure.empty()) {
        pair.failure = again.failure;
        return o;
      }
      o.rounds += again.logarithms.size();
      const double median = median_interval(again.logarithms).median;
      said += fmt::format("{}{:+.1f}%", said.empty() ? "" : ", ", 100 * std::expm1(median));
      medians.push_back(median);
      if (medians.size() < 3) continue;
      const Estimate e = mean_interval(medians);
      o.ratio = {std::exp(e.median), std::exp(e.low), std::exp(e.high)};
      if (decide(e, pair.threshold) == o.verdict) {
        o.confirmed = true;
        return o;
      }
    }
    o.note = fmt::format("{} by {:+.1f}% in one process, but {} in others", token(o.verdict),
                         100 * (std::exp(median_interval(pair.logarithms).median) - 1), said);
    o.verdict = GateOutcome::Verdict::ambiguous;
    return o;
  }

  // Where the two kernels begin in their files.
  bool same_machine_code(const Subject& s) {
    const Json where = process(s.threads).ask(
        {{"do", "entries"},
         {"kernels",
          Json::array(
              {{{"module", candidate_module},
                {"schema", s.candidate->schema},
                {"name", s.candidate->table_name}},
               {{"module", base_module}, {"schema", s.base->schema}, {"name", s.base->table_name}}})}},
        60)["entries"];
    if (where[0].is_null() || where[1].is_null()) return false;
    if (!code) code.emplace(options.candidate, options.base);
    return code->same(where[0], where[1]);
  }
};

Gate::Gate(const GateOptions& options, std::string program)
    : state_(std::make_unique<State>(options, std::move(program))) {}
Gate::~Gate() = default;

const std::vector<Gate::Subject>& Gate::subjects() const { return state_->subjects; }
const Placement& Gate::placement(int threads) { return state_->placement(threads); }

nlohmann::json Gate::machine_limits() {
  return state_->process(state_->options.bench.threads.front()).ask({{"do", "bandwidths"}}, 120)["limits"];
}

BenchRow Gate::compare(const Subject& s) {
  BenchRow row;
  row.op = std::string(s.bench_case->c.op->schema.name);
  row.case_text = text(s.bench_case->c);
  row.impl = s.candidate->table_name;
  row.cache = s.cache;
  row.threads = s.threads;
  row.shape = s.bench_case->reason;
  if (s.base == nullptr) {
    row.reason = "the baseline has no such kernel";
    return row;
  }
  State& state = *state_;
  try {
    if (state.options.skip_unchanged && state.same_machine_code(s)) {
      row.reason = "the same machine code in both";
      row.gate.emplace();
      row.gate->verdict = GateOutcome::Verdict::unchanged;
      return row;
    }
    State::Pair pair;
    const GateOutcome outcome =
        state.judge(s, {state.base_module, s.base}, {state.candidate_module, s.candidate},
                    state.options.bench.seed, pair);
    row.dtype = pair.opened.value("dtype", "");
    if (!pair.failure.empty()) {
      row.status = pair.refused ? BenchRow::Status::refused : BenchRow::Status::failed;
      row.reason = pair.failure;
      return row;
    }
    row.status = BenchRow::Status::measured;
    row.by_wall = s.threads > 1;
    row.rounds = pair.logarithms.size();
    row.ns = pair.ns;
    row.contention = pair.contention;
    row.bytes = pair.opened["bytes"];
    row.operations = pair.opened["operations"];
    row.functions = pair.opened["functions"];
    row.gate = outcome;
  } catch (const SessionHung& hung) {
    state.session.reset();
    row.status = BenchRow::Status::failed;
    row.reason = fmt::format("{}{}", hung.kernel == 0 ? "the baseline: " : "", hung.what());
  } catch (const SessionDied& died) {
    state.session.reset();
    row.status = BenchRow::Status::failed;
    row.reason = died.what();
  } catch (const SessionError& error) {
    row.status = BenchRow::Status::not_run;
    row.reason = error.what();
  }
  return row;
}

void Gate::try_canary(const Subject& s, Canary& canary) {
  State& state = *state_;
  if (s.base == nullptr) return;
  State::Pair pair;
  const GateOutcome o = state.judge(s, {state.base_module, s.base}, {state.second_module, s.base},
                                    state.options.bench.seed + 7, pair);
  if (!pair.failure.empty()) return;
  ++canary.trials;
  canary.alarms += o.confirmed ? 1 : 0;
}

GateOutcome Gate::trial(const Subject& s, double slowed, std::uint64_t seed) {
  State& state = *state_;
  State::Pair pair;
  const GateOutcome o =
      state.judge(s, {state.base_module, s.base}, {state.second_module, s.base, slowed}, seed, pair);
  if (!pair.failure.empty()) throw SessionError(pair.failure);
  return o;
}

}  // namespace assay

#include "examine.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "../generate/data.h"
#include "../generate/properties.h"
#include "../judge/declared.h"
#include "../judge/reached.h"
#include "../run/threads.h"
#include "further_runs.h"
#include "predecessors.h"
#include "thread_runs.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

// One case in this many also runs with several threads, and every one that is large enough to be split among them.
constexpr std::uint64_t kThreadedShare = 8;
// Where a contract leaves the order of threads open, a race shows in wrong numbers alone, and in few runs.
constexpr int kRunsForRaces = 8;
constexpr std::int64_t kLarge = 1 << 14;  // elements of some tensor

// A call whose arguments are wrong has no outputs of its own; a kernel that takes them anyway gets these.
void invent_outputs(Call& call) {
  Checked::Output invented{Dtype::f32, {1}};
  for (const CallValue& v : call.arguments)
    if (const auto* t = std::get_if<TensorData>(&v)) {
      invented = {t->dtype, t->shape};
      break;
    }
  call.outputs.assign(call.op->schema.result_count, invented);
  call.output_layouts.assign(call.op->schema.result_count, Layout{});
}

bool is_large(const Call& call) {
  return std::ranges::any_of(call.arguments, [](const CallValue& v) {
    const auto* t = std::get_if<TensorData>(&v);
    return t != nullptr && t->numel() >= kLarge;
  });
}

bool applies(const Kernel& kernel, Checked::Fault fault) {
  if (fault == Checked::Fault::none) return true;
  if (!kernel.checks_arguments) return false;
  // Which dtypes an operator takes is a rule of ours: a peer may take more.
  return !kernel.peer || fault == Checked::Fault::shape || fault == Checked::Fault::attribute;
}

bool is_by_others(const Kernel& kernel) { return kernel.peer || kernel.name.starts_with(kPluginPrefix); }

struct PackedResult {
  Finding* finding;
  const Kernel* kernel;
  Contract contract;
  std::size_t call;                     // index of the case's call
  std::size_t task;                     // its main run
  std::optional<std::size_t> property;  // the task of the metamorphic run
  std::vector<std::size_t> threaded;    // the tasks of runs with several threads
  std::optional<Derived> derived;
};

bool works_late(const Outcome& outcome) { return outcome.doing == Doing::after_return; }

// Whether the lane has seen that what runs after this call in its process may suffer for it.
bool spoils(const Outcome& outcome) {
  return !outcome.left.empty() || outcome.doing == Doing::to_others || works_late(outcome);
}

// The findings of a call that there was no time for.
Examined not_run(std::span<const Kernel* const> kernels) {
  Examined e;
  for (const Kernel* k : kernels) {
    Finding& f = e.findings.emplace_back();
    f.kernel = k;
    f.stopped = true;
  }
  return e;
}

// Nothing where there is no time for all of it.
std::unique_ptr<Expectation> expectation_of(const Call& call, bool ahead) {
  if (!call.error.empty()) return nullptr;
  auto expectation = std::make_unique<Expectation>(call);
  if (!ahead) return expectation;
  try {
    for (std::size_t o = 0; o < call.outputs.size(); ++o) expectation->values(static_cast<int>(o));
  } catch (const Stopped&) {
    return nullptr;
  }
  return expectation;
}

// Case after case asks for memory of like sizes. What free() gave back to the system would come back as pages to clear.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the greatest that there is
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

// On a device a process takes long to start.
bool starts_quickly(std::span<const Kernel* const> kernels) {
  return std::ranges::none_of(kernels, &Kernel::on_device);
}

}  // namespace

Further further_in(std::uint64_t chunk) {
  return chunk % 8 == 0 ? Further::many : chunk % 8 == 4 ? Further::few : Further::padded;
}

Examiner::Examiner(std::shared_ptr<Zygotes> zygotes, RunOptions options, std::shared_ptr<KnownCulprits> known)
    : zygotes_(std::move(zygotes)),
      run_options_(std::move(options)),
      lane_(zygotes_, run_options_),
      known_(known ? std::move(known) : std::make_shared<KnownCulprits>()) {
  static std::once_flag once;
  std::call_once(once, keep_freed_memory);
}

Lane Examiner::fresh_lane() const {
  Lane lane(zygotes_, run_options_);
  for (const std::string& kernel : apart_) lane.keep_apart(kernel);
  return lane;
}

void Examiner::start_afresh() {
  apart_ = known_->that_spoil();
  lane_ = fresh_lane();
  earlier_.clear();
}

// Those that another lane has found may have run in this one's processes.
void Examiner::learn_of_others() {
  if (known_->that_spoil() != apart_) start_afresh();
}

const Kernel& Examiner::threaded(const Kernel& kernel, int threads) {
  const auto known = threaded_.find({&kernel, threads});
  if (known != threaded_.end()) return known->second;
  Kernel copy = kernel;
  set_variable(copy.environment, fmt::format("OMP_NUM_THREADS={}", threads), true);
  return threaded_.emplace(std::pair(&kernel, threads), std::move(copy)).first->second;
}

std::vector<Examined> Examiner::examine(std::span<const Case> cases, std::span<const Kernel* const> kernels,
                                        const ExamineOptions& options) {
  // What a kernel does wrong in the first call of a process shows in few cases: there are others that come first.
  if (options.further == Further::few && starts_quickly(kernels)) start_afresh();
  if (options.confirm) learn_of_others();
  std::vector<Examined> all;
  std::vector<Call> calls;
  std::vector<std::uint64_t> choices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (StopScope::over()) {
      // Those that were made and not run yet, too.
      while (all.size() < cases.size()) all.push_back(not_run(kernels));
      break;
    }
    calls.push_back(materialise(cases[i]));
    choices.push_back(cases[i].seed);
    // A large case is run and judged while its data is in the caches, and not after others.
    if (!is_large(calls.back()) && i + 1 < cases.size()) continue;
    const std::span<const Case> made_of = cases.subspan(i + 1 - calls.size(), calls.size());
    std::ranges::move(examine(std::exchange(calls, {}), choices, kernels, options, made_of),
                      std::back_inserter(all));
    choices.clear();
  }
  return all;
}

std::vector<Examined> Examiner::examine(std::vector<Call> calls, std::span<const std::uint64_t> choices,
                                        std::span<const Kernel* const> kernels, const ExamineOptions& options,
                                        std::span<const Case> made_of) {
  lane_.of_row(options.row);
  std::vector<Examined> all(calls.size());
  std::vector<Task> tasks;
  std::deque<PackedResult> results;
  // 1. Tasks: each kernel on each call, on the call of its property, and on the call with several threads.
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Examined& e = all[i];
    e.call = std::move(calls[i]);
    Checked::Fault fault = Checked::Fault::none;
    if (!e.call.error.empty()) {
      fault = check_arguments(*e.call.op, Arguments(e.call).values()).fault;
      invent_outputs(e.call);
    }
    e.findings.resize(kernels.size());
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const Kernel& kernel = *kernels[k];
      Finding& f = e.findings[k];
      f.kernel = &kernel;
      f.applicable = applies(kernel, fault);
      if (!f.applicable) continue;
      PackedResult r{&f, &kernel, contract_for(kernel, e.call), i, tasks.size(), {}, {}, {}};
      tasks.push_back({&kernel, &e.call});
      if (options.properties && fault == Checked::Fault::none) {
        r.derived = derive(e.call, r.contract, choices[i]);
        if (!kernel.peer && (choices[i] % kThreadedShare == 0 || is_large(e.call))) {
          const int times = r.contract.thread_invariant ? 1 : is_large(e.call) ? kRunsForRaces : 2;
          for (int t = 0; t < times; ++t) {
            r.threaded.push_back(tasks.size());
            tasks.push_back({&threaded(kernel, kThreads), &e.call});
          }
        }
      }
      results.push_back(std::move(r));
      if (results.back().derived) {
        results.back().property = tasks.size();
        tasks.push_back({&kernel, &results.back().derived->call});
      }
    }
  }

  // 2. The lane's workers run the tasks; meanwhile the reference is computed here.
  lane_.post(tasks);
  if (options.only_runs) {
    const std::vector<Outcome> outcomes = lane_.collect();
    for (std::size_t t = 0; t < tasks.size(); ++t)
      if (works_late(outcomes[t])) known_->note_spoils(tasks[t].kernel->name, true);
    return all;
  }
  std::vector<std::unique_ptr<Expectation>> expectations(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) expectations[i] = expectation_of(all[i].call, options.ahead);
  std::vector<Outcome> outcomes = lane_.collect();

  // 3. Judgement of each kernel on each call.
  // The kernel and case that failed after this task, if the lane has found that out.
  const auto harmed_by = [&](const Outcome& outcome) -> std::optional<Harmed> {
    if (!outcome.harmed || made_of.empty()) return std::nullopt;
    for (const PackedResult& r : results)
      if (r.task == *outcome.harmed || r.property == outcome.harmed ||
          std::ranges::find(r.threaded, *outcome.harmed) != r.threaded.end())
        return Harmed{.impl = r.kernel->name, .case_text = text(made_of[r.call])};
    return std::nullopt;
  };

  std::vector<Passed> passed;
  const auto conclude = [&](PackedResult& r) {
    const Call& call = all[r.call].call;
    const Outcome& main = outcomes[r.task];
    Judgement& j = r.finding->judgement;
    const bool unread = call.error.empty() && expectations[r.call] == nullptr;
    r.finding->stopped = main.stopped || unread;
    if (r.finding->stopped) return;
    j = judge(*r.kernel, r.contract, call, expectations[r.call].get(), main);
    blame_surroundings(lane_, *r.kernel, call, main, j);
    r.finding->information = main.information;
    r.finding->ran = main.ran;
    r.finding->harmed = harmed_by(main);

    // Compares another run with the first one, which must have returned and have no fault: by `compare`; or, without it, by judging the
    // other run as the first was.
    using Compare = std::function<std::string(const Outcome&)>;
    const auto related = [&](const Outcome& other, const Kernel& kernel, const Call& its_call,
                             const std::string& relation, const Compare& compare) {
      if (main.kind != Outcome::Kind::ok || is_fault(j.verdict) || other.kind == Outcome::Kind::refused)
        return;
      if (other.stopped) {
        r.finding->stopped = true;
        return;
      }
      if (other.kind != Outcome::Kind::ok || !compare) {
        const Judgement judged = judge(*r.kernel, r.contract, call, expectations[r.call].get(), other);
        if (other.kind == Outcome::Kind::ok && !is_fault(judged.verdict)) return;
        j.verdict = judged.verdict;
        j.doing = judged.doing;
        j.detail = judged.detail;
        j.given_up = judged.given_up;
        r.finding->harmed = harmed_by(other);
      } else {
        std::string broken = compare(other);
        if (broken.empty()) return;
        j.verdict = Verdict::unstable;
        j.detail = std::move(broken);
      }
      blame_surroundings(lane_, kernel, its_call, other, j);
      j.detail = fmt::format("{}: {}", relation, j.detail);
    };
    for (const std::size_t task : r.threaded)
      related(
          outcomes[task], threaded(*r.kernel, kThreads), call, fmt::format("with {} threads", kThreads),
          !r.contract.thread_invariant ? Compare() : [&](const Outcome& other) {
            return first_difference(call, other.outputs, "there", main.outputs, "with one thread");
          });
    if (r.property)
      related(outcomes[*r.property], *r.kernel, r.derived->call,
              fmt::format("property {}", r.derived->property),
              [&](const Outcome& other) { return r.derived->compare(main.outputs, other.outputs); });
    if (options.needs && main.kind == Outcome::Kind::ok && j.verdict == Verdict::pass && call.error.empty() &&
        is_by_others(*r.kernel))
      r.finding->needs = needed_weaknesses(r.contract, *expectations[r.call], main.outputs);
    if (is_fault(j.verdict)) {
      r.finding->stopped = false;  // which no other run takes back
    } else if (main.kind == Outcome::Kind::ok && !r.finding->stopped && call.error.empty()) {
      passed.push_back({r.kernel, &r.contract, &call, made_of.empty() ? nullptr : &made_of[r.call],
                        choices[r.call], expectations[r.call].get(), &main, r.finding});
    }
  };
  for (PackedResult& r : results) {
    try {
      conclude(r);
    } catch (const Stopped&) {
      r.finding->judgement = {};
      r.finding->stopped = true;
    }
  }
  // 4. Kernels that have damaged their process run apart from now on.
  std::set<std::string> spoilers;
  if (options.confirm)
    for (std::size_t t = 0; t < tasks.size(); ++t)
      if (spoils(outcomes[t])) {
        spoilers.insert(tasks[t].kernel->name);
        if (works_late(outcomes[t])) known_->note_spoils(tasks[t].kernel->name, true);
      }
  for (const std::string& kernel : spoilers) lane_.keep_apart(kernel);
  Examination examination{all, choices, kernels, options, made_of, {}};
  if (options.confirm)
    for (const PackedResult& r : results)
      if (is_fault(r.finding->judgement.verdict)) examination.at_once.insert(r.finding);
  // 5. Calls that have passed run again: with room after their rows, with other data, by the thousand, with more threads.
  try {
    if (options.further == Further::few && starts_quickly(kernels)) {
      // What is wrong in the first call of a process shows where results are not all zeros, and which those are is known now.
      Lane fresh = fresh_lane();
      fresh.of_row(options.row);
      for (const std::string& kernel : spoilers) fresh.keep_apart(kernel);
      run_further(fresh, passed, options.further);
    } else {
      run_further(lane_, passed, options.further);
    }
    if (options.further != Further::none)
      run_with_threads(lane_, passed,
                       [this](const Kernel& k, int n) -> const Kernel& { return threaded(k, n); });
  } catch (const Stopped&) {
    for (const Passed& p : passed)
      if (!is_fault(p.finding->judgement.verdict)) {
        p.finding->judgement = {};
        p.finding->stopped = true;
      }
  }
  for (PackedResult& r : results) {
    if (is_fault(r.finding->judgement.verdict)) r.finding->stopped = false;
    if (options.keep_outputs) r.finding->outputs = std::move(outcomes[r.task].outputs);
  }
  // 6. Calls that have failed run again in a fresh process. Where they are right, a kernel that ran before may be at fault.
  try {
    if (options.confirm) confirm(examination);
  } catch (const Stopped&) {  // there was no time for it: faults stay where they showed
    start_afresh();
  }
  for (const std::string& kernel : spoilers) known_->note_spoils(kernel);
  return all;
}

}  // namespace assay

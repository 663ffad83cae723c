#include "examine.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "../generate/data.h"
#include "../generate/properties.h"

namespace assay {
namespace {

constexpr std::string_view kThreads =
    "3";  // more than cores on small machines, and odd, so that work splits unevenly
// One case in this many also runs with several threads, and every one that is large enough to be split among them.
constexpr std::uint64_t kThreadedShare = 8;
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

struct PackedResult {
  Finding* finding;
  const Kernel* kernel;
  Contract contract;
  std::size_t call;                     // index of the case's call
  std::size_t task;                     // its main run
  std::optional<std::size_t> property;  // the task of the metamorphic run
  std::optional<std::size_t> threaded;  // the task of the run with several threads
  std::optional<Derived> derived;
};

// Case after case asks for memory of like sizes. What free() gave back to the system would come back as pages to clear.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the greatest that there is
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

}  // namespace

Examiner::Examiner(std::shared_ptr<Zygotes> zygotes, RunOptions options)
    : lane_(std::move(zygotes), options) {
  static std::once_flag once;
  std::call_once(once, keep_freed_memory);
}

const Kernel& Examiner::threaded(const Kernel& kernel) {
  const auto known = threaded_.find(&kernel);
  if (known != threaded_.end()) return known->second;
  Kernel copy = kernel;
  set_variable(copy.environment, fmt::format("OMP_NUM_THREADS={}", kThreads), true);
  return threaded_.emplace(&kernel, std::move(copy)).first->second;
}

std::vector<Examined> Examiner::examine(std::span<const Case> cases, std::span<const Kernel* const> kernels,
                                        const ExamineOptions& options) {
  std::vector<Examined> all;
  std::vector<Call> calls;
  std::vector<std::uint64_t> choices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    calls.push_back(materialise(cases[i]));
    choices.push_back(cases[i].seed);
    // A large case is run and judged while its data is in the caches, and not after others.
    if (!is_large(calls.back()) && i + 1 < cases.size()) continue;
    std::ranges::move(examine(std::exchange(calls, {}), choices, kernels, options), std::back_inserter(all));
    choices.clear();
  }
  return all;
}

std::vector<Examined> Examiner::examine(std::vector<Call> calls, std::span<const std::uint64_t> choices,
                                        std::span<const Kernel* const> kernels,
                                        const ExamineOptions& options) {
  std::vector<Examined> all(calls.size());
  std::vector<Task> tasks;
  std::deque<PackedResult> results;
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
        if (!kernel.peer && r.contract.thread_invariant &&
            (choices[i] % kThreadedShare == 0 || is_large(e.call))) {
          r.threaded = tasks.size();
          tasks.push_back({&threaded(kernel), &e.call});
        }
      }
      results.push_back(std::move(r));
      if (results.back().derived) {
        results.back().property = tasks.size();
        tasks.push_back({&kernel, &results.back().derived->call});
      }
    }
  }

  lane_.post(tasks);
  std::vector<std::unique_ptr<Expectation>> expectations(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].call.error.empty()) continue;
    expectations[i] = std::make_unique<Expectation>(all[i].call);
    for (std::size_t o = 0; o < all[i].call.outputs.size(); ++o) expectations[i]->values(static_cast<int>(o));
  }
  std::vector<Outcome> outcomes = lane_.collect();

  for (PackedResult& r : results) {
    const Call& call = all[r.call].call;
    Outcome& main = outcomes[r.task];
    Judgement& j = r.finding->judgement;
    r.finding->stopped = main.stopped;
    if (main.stopped) continue;
    j = judge(*r.kernel, r.contract, call, expectations[r.call].get(), main);
    r.finding->information = main.information;

    // A relation between runs says something only where the first run stands.
    const auto related = [&](const Outcome& other, const std::string& relation, auto&& compare) {
      if (main.kind != Outcome::Kind::ok || is_fault(j.verdict) || other.kind == Outcome::Kind::refused)
        return;
      if (other.stopped) {
        r.finding->stopped = true;
        return;
      }
      if (other.kind != Outcome::Kind::ok) {
        const Judgement fault = judge(*r.kernel, r.contract, call, expectations[r.call].get(), other);
        j.verdict = fault.verdict;
        j.detail = fmt::format("{}: {}", relation, fault.detail);
        return;
      }
      const std::string broken = compare(other);
      if (broken.empty()) return;
      j.verdict = Verdict::unstable;
      j.detail = fmt::format("{}: {}", relation, broken);
    };
    if (r.threaded)
      related(outcomes[*r.threaded], fmt::format("with {} threads", kThreads), [&](const Outcome& other) {
        return first_difference(call, other.outputs, "there", main.outputs, "with one thread");
      });
    if (r.property)
      related(outcomes[*r.property], fmt::format("property {}", r.derived->property),
              [&](const Outcome& other) { return r.derived->compare(main.outputs, other.outputs); });
    if (is_fault(j.verdict)) r.finding->stopped = false;  // which no other run takes back
    if (options.keep_outputs) r.finding->outputs = std::move(main.outputs);
  }
  return all;
}

}  // namespace assay

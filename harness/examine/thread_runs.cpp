#include "thread_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <vector>

#include "../judge/reached.h"
#include "../model/kernel.h"
#include "other_call.h"

namespace assay {
namespace {

constexpr std::size_t kMostBytesForThreads = std::size_t{16} << 20;
// As many as small machines have processors more often than others: more of them are not at work at the same time there.
constexpr std::array kNumbersOfThreads{2, 3, 2, 4, 2, 7};
// Of a race that loses one update in 10,000 elements, 6 calls of 32,768 elements miss 1 in 300 million; of one that loses one in a
// million, as many calls as are enough find more than half.
constexpr std::uint32_t kLeastTogether = 6, kMostTogether = 400;
constexpr std::chrono::microseconds kEnoughTogether{2000}, kLongestTogether{30'000};
constexpr std::uint64_t kOursOneIn = 4;  // of the large cases of our own kernels; of others' all

bool is_for_threads(const Call& call) {
  return bytes_of(call) <= kMostBytesForThreads &&
         std::ranges::any_of(call.arguments, [](const CallValue& v) {
           const auto* const t = std::get_if<TensorData>(&v);
           return t != nullptr && t->numel() >= kForThreads;
         });
}

struct ThreadRun {
  const Passed* of = nullptr;
  int threads = 0;
  const Kernel* kernel = nullptr;
  Repeats repeats{};

  Judgement judged(const Outcome& outcome) const {
    if (outcome.kind == Outcome::Kind::refused || outcome.kind == Outcome::Kind::not_run) return {};
    const std::string calls = fmt::format("called again and again with {} threads", threads);
    Judgement j;
    if (outcome.kind != Outcome::Kind::ok) {
      j = judge(*of->kernel, *of->contract, *of->call, of->expectation, outcome);
      j.detail = fmt::format("{}: {}", calls, j.detail);
      return j;
    }
    const RepeatedCalls& r = *outcome.repeated;
    const auto differs = [&](const PackedResults& results) {
      return first_difference(*of->call, results, "in one of these calls", of->outcome->outputs,
                              "with one thread");
    };
    if (of->contract->thread_invariant && of->contract->deterministic)
      for (const PackedResults* results : {&r.last, &outcome.outputs, &r.first_other}) {
        if (results->empty()) continue;
        if (std::string broken = differs(*results); !broken.empty()) {
          if (!r.unwritten.empty() && results == &r.last) broken = fmt::format("it {}", r.unwritten);
          return {.verdict = Verdict::unstable, .detail = fmt::format("{}: {}", calls, broken)};
        }
      }
    for (const PackedResults* results : {&r.first_other, &outcome.outputs}) {
      if (results->empty()) continue;
      j = judge_outputs(*of->contract, *of->expectation, {results->begin(), results->end()});
      if (j.verdict == Verdict::diverged) {
        j.detail = fmt::format("{}: {}", calls, j.detail);
        return j;
      }
    }
    return {};
  }
};

}  // namespace

void run_with_threads(Lane& lane, std::span<const Passed> passed, const Threaded& threaded) {
  std::deque<ThreadRun> runs;
  std::vector<Task> tasks;
  for (const Passed& p : passed) {
    if (p.kernel->peer || p.kernel->on_device || is_cuda_on_the_processor(*p.kernel) ||
        !is_for_threads(*p.call))
      continue;
    const bool is_ours = !p.kernel->name.starts_with(kPluginPrefix);
    if (is_ours && p.choice / kNumbersOfThreads.size() % kOursOneIn != 0) continue;
    ThreadRun& run = runs.emplace_back();
    run.of = &p;
    run.threads = kNumbersOfThreads[p.choice % kNumbersOfThreads.size()];
    run.kernel = &threaded(*p.kernel, run.threads);
    run.repeats = {p.call,
                   nullptr,
                   kMostTogether,
                   kLeastTogether,
                   kEnoughTogether,
                   kLongestTogether,
                   p.contract->thread_invariant && p.contract->deterministic};
    tasks.push_back({run.kernel, p.call, -1, &run.repeats});
  }
  if (tasks.empty()) return;
  lane.post(tasks);
  const std::vector<Outcome> outcomes = lane.collect();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Finding& f = *runs[i].of->finding;
    if (outcomes[i].stopped) f.stopped = true;
    if (is_fault(f.judgement.verdict)) continue;
    if (Judgement j = runs[i].judged(outcomes[i]); is_fault(j.verdict)) {
      blame_surroundings(lane, *runs[i].kernel, *runs[i].of->call, outcomes[i], j);
      f.judgement.verdict = j.verdict;
      f.judgement.doing = j.doing;
      f.judgement.detail = std::move(j.detail);
    }
  }
}

}  // namespace assay

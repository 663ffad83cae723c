#include "further_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../judge/reached.h"
#include "other_call.h"
#include "padded.h"
#include "reports/text.h"

namespace assay {
namespace {

using Member = RepeatedCalls::Member;

// Of buffers together: each of thousands of calls writes them anew.
constexpr std::size_t kSmallRepeated = 32 << 10;
constexpr std::size_t kMostRepeated = 1 << 20;
constexpr std::size_t kTelling = 24;
constexpr std::uint32_t kFewCalls = 48, kLargeCalls = 12, kManyCalls = 4096;
// More than the 1,000 after which a counter's fault is commonly set, whatever they take.
constexpr std::uint32_t kLeastOfMany = 1100;
constexpr std::chrono::microseconds kEnoughRepeats{500}, kLongestRepeats{100'000};

std::string ordinal(std::uint32_t n) {
  const char* end = n % 100 / 10 == 1 ? "th"
                    : n % 10 == 1     ? "st"
                    : n % 10 == 2     ? "nd"
                    : n % 10 == 3     ? "rd"
                                      : "th";
  return grouped(n) + end;
}

bool has_elements(const Call& call) {
  return !call.outputs.empty() && std::ranges::find(call.outputs[0].shape, 0) == call.outputs[0].shape.end();
}

// How little the results of a case say of what a kernel remembers: those of other calls are the same, and so is what is wrong.
enum class Sameness : std::uint8_t { varied, one_number, zeros };

Sameness sameness(const Passed& p) {
  bool zeros = true, one_number = true;
  for (std::size_t o = 0; o < p.outcome->outputs.size(); ++o) {
    const std::vector<std::byte>& result = p.outcome->outputs[o];
    const auto size = static_cast<std::size_t>(bytes(p.call->outputs[o].dtype));
    zeros = zeros && std::ranges::all_of(result, [](std::byte b) { return b == std::byte{0}; });
    for (std::size_t at = size; one_number && at < result.size(); at += size)
      one_number = std::memcmp(result.data(), result.data() + at, size) == 0;
  }
  return zeros ? Sameness::zeros : one_number ? Sameness::one_number : Sameness::varied;
}

bool has_nan(const Call& call, const PackedResults& results) {
  for (std::size_t o = 0; o < results.size(); ++o) {
    const Dtype dtype = call.outputs[o].dtype;
    const auto size = static_cast<std::size_t>(bytes(dtype));
    for (std::size_t at = 0; is_float(dtype) && at < results[o].size(); at += size)
      if (std::isnan(load(results[o].data() + at, dtype))) return true;
  }
  return false;
}

ExpectedOutputs as_expected(const PackedResults& results) { return {results.begin(), results.end()}; }

// The repeats of one case on one kernel.
struct Repeating {
  const Passed* of = nullptr;
  const Call* other = nullptr;
  const MadeCall* neighbour = nullptr;
  Expectation* other_expected = nullptr;
  Expectation* neighbour_expected = nullptr;
  Repeats repeats{};

  Judgement judged(const Outcome& outcome) const;

 private:
  Judgement diverged(std::string said, Expectation& expected, const PackedResults& results) const;
  Judgement differed(const Outcome& outcome) const;
};

Judgement Repeating::diverged(std::string said, Expectation& expected, const PackedResults& results) const {
  Judgement j = judge_outputs(*of->contract, expected, as_expected(results));
  if (j.verdict != Verdict::diverged) return {};
  j.detail = fmt::format("{}: {}", said, j.detail);
  return j;
}

Judgement Repeating::differed(const Outcome& outcome) const {
  const RepeatedCalls& r = *outcome.repeated;
  const Call& call = r.which == Member::own ? *of->call : r.which == Member::other ? *other : neighbour->call;
  const std::string now = fmt::format("in the {} call", ordinal(r.differed));
  std::string what;
  if (r.which == Member::neighbour) {
    // What it gave the first time is not kept; what is right is known.
    const Judgement j = judge_outputs(*of->contract, *neighbour_expected, as_expected(r.last));
    what = j.verdict == Verdict::diverged ? j.detail : "other bits, which are within the bounds";
  } else {
    what = first_difference(call, r.last, now, r.which == Member::own ? of->outcome->outputs : r.first_other,
                            "in the first");
    // What the first call of this process gave is not kept. If the later one is as before, and has no NaN whose payload may differ, it was
    // the first that was wrong.
    if (what.empty() && r.which == Member::own && !has_nan(call, r.last))
      return {.verdict = Verdict::unstable,
              .detail = fmt::format("the first call of a new process differs from the {} call of this case, which gives what the "
                                    "call in an earlier process gave",
                                    ordinal(r.differed))};
    if (what.empty()) return {};  // NaN with another payload
  }
  if (!r.unwritten.empty()) what = fmt::format("it {}", r.unwritten);
  const auto subject = [&](Member m) {
    return m == Member::own     ? std::string("of this case")
           : m == Member::other ? std::string("with other data at the same addresses")
                                : "of " + neighbour->text;
  };
  const std::string context = r.before == r.which ? "" : fmt::format(", after one {}", subject(r.before));
  return {.verdict = Verdict::unstable,
          .detail = fmt::format(
              "called again and again in one process, the {} call, {}{}, differs from the first: {}",
              ordinal(r.differed), subject(r.which), context, what)};
}

Judgement Repeating::judged(const Outcome& outcome) const {
  if (outcome.kind == Outcome::Kind::refused || outcome.kind == Outcome::Kind::not_run) return {};
  const auto& r = outcome.repeated;
  if (outcome.kind != Outcome::Kind::ok) {
    Judgement j = judge(*of->kernel, *of->contract, *of->call, of->expectation, outcome);
    j.detail = fmt::format("called again and again in one process{}: {}",
                           r ? fmt::format(", the {} call", ordinal(r->calls)) : std::string(), j.detail);
    return j;
  }
  if (!r->first_other.empty() && !(r->differed != 0 && r->which == Member::other && r->differed <= 3)) {
    const bool stale = first_difference(*of->call, r->first_other, "", of->outcome->outputs, "").empty();
    const Judgement j = diverged(
        stale ? "with other data at the same addresses the kernel gave the result of the earlier data"
              : "with other data at the same addresses",
        *other_expected, r->first_other);
    if (j.verdict != Verdict::pass) return j;
  }
  if (r->differed != 0) return differed(outcome);
  Judgement j = diverged(fmt::format("called again and again in one process, the {} call", ordinal(r->calls)),
                         *of->expectation, outcome.outputs);
  if (j.verdict == Verdict::pass && neighbour != nullptr && r->calls > 5)
    j = diverged(fmt::format("the same kernel, called on {} between two calls of this case, gave this",
                             neighbour->text),
                 *neighbour_expected, r->last_neighbour);
  if (j.verdict == Verdict::pass && !left_text(outcome).empty()) {
    j.verdict = Verdict::unstable;
    j.detail = fmt::format("called again and again in one process, it left {}", left_text(outcome));
  }
  return j;
}

// A case with rows that have room after them, on one kernel.
struct Padded {
  const Passed* of = nullptr;
  const Call* call = nullptr;
};

struct Calls {
  std::optional<Call> other;
  std::optional<MadeCall> neighbour;
  std::unique_ptr<Expectation> other_expected, neighbour_expected;
  bool made = false;
  std::size_t bytes = 0;
};

class FurtherRuns {
 public:
  FurtherRuns(Lane& lane, std::span<const Passed> passed, Further which)
      : lane_(lane), passed_(passed), which_(which) {}

  void run() {
    for (const Choice& chosen : chosen()) {
      if (bytes_of(*chosen.padded->call) <= kMostRepeated)
        if (std::optional<Call>& call =
                padded_calls_.try_emplace(chosen.padded->call, std::nullopt).first->second;
            call || (call = with_padded_rows(*chosen.padded->call)))
          padded_.push_back({chosen.padded, &*call});
      for (const Passed* p : chosen.repeated) {
        const Calls& c = calls_of(*p);
        if (!c.other) continue;
        repeating_.push_back(repeating(*p, c));
        break;
      }
    }
    // Repeats first: in a new process theirs are the first calls.
    std::vector<Task> tasks;
    for (const Repeating& r : repeating_) tasks.push_back({r.of->kernel, r.of->call, -1, &r.repeats});
    for (const Padded& p : padded_) tasks.push_back({p.of->kernel, p.call});
    if (tasks.empty()) return;
    lane_.post(tasks);
    for (auto& [call, c] : calls_)  // while kernels run
      for (Expectation* e : {c.other_expected.get(), c.neighbour_expected.get()})
        if (e != nullptr)
          for (std::size_t o = 0; o < e->call().outputs.size(); ++o) e->values(static_cast<int>(o));
    const std::vector<Outcome> outcomes = lane_.collect();
    for (std::size_t i = 0; i < padded_.size(); ++i) conclude(padded_[i], outcomes[repeating_.size() + i]);
    for (std::size_t i = 0; i < repeating_.size(); ++i) conclude(repeating_[i], outcomes[i]);
  }

 private:
  struct Choice {
    const Passed* padded = nullptr;
    std::vector<const Passed*> repeated;  // the first of them for which there is other data
  };

  // All, or for each kernel one of each kind: which, the cases' own choices say. Of what is called by the thousand, the smallest.
  std::vector<Choice> chosen() const {
    std::vector<Choice> all;
    std::map<const Kernel*, std::vector<const Passed*>> of_kernel;
    for (const Passed& p : passed_) {
      if (!has_elements(*p.call)) continue;
      if (which_ == Further::all)
        all.push_back({&p, {&p}});
      else if (bytes_of(*p.call) <= kSmallRepeated)
        of_kernel[p.kernel].push_back(&p);
    }
    for (auto& [kernel, cases] : of_kernel) {
      const auto any = static_cast<std::ptrdiff_t>(cases[0]->choice % cases.size());
      all.push_back({cases[static_cast<std::size_t>(any)], {}});
      Choice& c = all.back();
      if (which_ == Further::padded) continue;
      if (which_ == Further::few) {
        std::rotate(cases.begin(), cases.begin() + any, cases.end());
        std::ranges::stable_sort(cases, {}, [](const Passed* p) { return sameness(*p); });
      }
      if (which_ == Further::many)
        std::ranges::stable_sort(cases, {}, [](const Passed* p) {
          const std::size_t bytes = bytes_of(*p->call);
          return bytes < kTelling ? kSmallRepeated + 1 + static_cast<std::size_t>(Sameness::zeros)
                 : sameness(*p) == Sameness::varied
                     ? bytes
                     : kSmallRepeated + static_cast<std::size_t>(sameness(*p));  // in one or two elements most faults cannot be seen
        });
      c.repeated = cases;
    }
    return all;
  }

  Calls& calls_of(const Passed& p) {
    Calls& c = calls_[p.call];
    if (std::exchange(c.made, true)) return c;
    c.bytes = bytes_of(*p.call);
    if (c.bytes > kMostRepeated) return c;
    c.other = with_other_data(*p.call);
    if (c.other) c.other_expected = std::make_unique<Expectation>(*c.other);
    if (c.other && p.made_of != nullptr) c.neighbour = of_another_shape(*p.made_of);
    if (c.neighbour) c.neighbour_expected = std::make_unique<Expectation>(c.neighbour->call);
    return c;
  }

  Repeating repeating(const Passed& p, const Calls& c) const {
    Repeating r{&p, &*c.other, c.neighbour ? &*c.neighbour : nullptr, c.other_expected.get(),
                c.neighbour_expected.get()};
    const bool many = which_ != Further::few && c.bytes <= kSmallRepeated;
    r.repeats = {r.other,
                 c.neighbour ? &c.neighbour->call : nullptr,
                 many                        ? kManyCalls
                 : c.bytes <= kSmallRepeated ? kFewCalls
                                             : kLargeCalls,
                 many ? kLeastOfMany : kLargeCalls,
                 kEnoughRepeats,
                 kLongestRepeats,
                 p.contract->deterministic};
    return r;
  }

  static void fault(const Passed& p, Judgement j) {
    if (!is_fault(j.verdict) || is_fault(p.finding->judgement.verdict)) return;
    p.finding->judgement.verdict = j.verdict;
    p.finding->judgement.doing = j.doing;
    p.finding->judgement.detail = std::move(j.detail);
  }

  void conclude(const Padded& padded, const Outcome& outcome) {
    const Passed& p = *padded.of;
    if (outcome.stopped) p.finding->stopped = true;
    if (outcome.kind == Outcome::Kind::refused || outcome.kind == Outcome::Kind::not_run) return;
    Judgement j = judge(*p.kernel, *p.contract, *padded.call, p.expectation, outcome);
    if (!is_fault(j.verdict)) return;
    blame_surroundings(lane_, *p.kernel, *padded.call, outcome, j);
    j.detail = fmt::format("with rows that have room after them: {}", j.detail);
    fault(p, std::move(j));
  }

  static void conclude(const Repeating& repeating, const Outcome& outcome) {
    if (outcome.stopped) repeating.of->finding->stopped = true;
    fault(*repeating.of, repeating.judged(outcome));
  }

  Lane& lane_;
  std::span<const Passed> passed_;
  Further which_;
  std::map<const Call*, std::optional<Call>> padded_calls_;
  std::map<const Call*, Calls> calls_;
  std::deque<Padded> padded_;
  std::deque<Repeating> repeating_;
};

}  // namespace

void run_further(Lane& lane, std::span<const Passed> passed, Further which) {
  if (which != Further::none && !passed.empty()) FurtherRuns(lane, passed, which).run();
}

}  // namespace assay

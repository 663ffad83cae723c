#include "diagnosed.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>

#include "../diagnose/diagnosis.h"
#include "../diagnose/explains.h"
#include "allowance.h"
#include "tally.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// A gate has other things to do: `assay diagnose` takes the time it needs.
constexpr std::chrono::milliseconds kSingles{3000}, kPairs{500};

// The search for causes takes half of the time at most, so that something is said of where elements diverge, and what was used.
diagnose::Options quickly(Clock::duration left, const std::atomic<bool>& interrupted) {
  const auto half = std::chrono::duration_cast<std::chrono::milliseconds>(left / 2);
  return {.patience = {std::min(kSingles, half), std::min(kPairs, half / 4), &interrupted},
          .separate = false};
}

// What failed and is looked at again.
struct Shown {
  const Failure* failure;
  diagnose::Evidence evidence;
};

class Causes {
 public:
  Causes(Examiner& examiner, const Kernel& kernel, const std::atomic<bool>& interrupted)
      : examiner_(examiner), kernel_(kernel), interrupted_(interrupted) {}

  // Adds those that diverge again, one by one: a StopScope leaves those that were there before it ended.
  void show(const std::vector<Failure>& failures, std::deque<Shown>& all) {
    std::vector<const Failure*> diverged;
    std::vector<Case> cases;
    for (const Failure& f : failures)
      if (f.kind == Verdict::diverged) {
        diverged.push_back(&f);
        cases.push_back(parse_case(f.case_text));
      }
    const Kernel* const kernels[] = {&kernel_};
    const std::vector<Examined>& examined = examined_.emplace_back(
        examiner_.examine(cases, kernels, {.properties = false, .keep_outputs = true}));
    for (std::size_t i = 0; i < examined.size(); ++i) {
      const Finding& f = examined[i].findings[0];
      if (f.stopped) stop_now();
      if (f.stopped || f.outputs.empty() || !examined[i].call.error.empty()) continue;
      ExpectedOutputs outputs(f.outputs.begin(), f.outputs.end());
      all.push_back(
          {diverged[i], diagnose::Evidence(examined[i].call, contract_for(kernel_, examined[i].call),
                                           std::move(outputs))});
      if (all.back().evidence.diverging() == 0) all.pop_back();
    }
  }

  static std::vector<diagnose::Evidence*> evidence_of(std::deque<Shown>& shown) {
    std::vector<diagnose::Evidence*> all;
    for (Shown& s : shown) all.push_back(&s.evidence);
    return all;
  }

  diagnose::Diagnosis of(std::span<diagnose::Evidence* const> calls, Clock::duration left) const {
    return diagnose::diagnose(calls, quickly(left, interrupted_));
  }

 private:
  Examiner& examiner_;
  const Kernel& kernel_;
  const std::atomic<bool>& interrupted_;
  std::deque<std::vector<Examined>> examined_;  // whose calls the evidence is of
};

// A cause that is certain, by its name; else empty.
std::string certain_cause(const diagnose::Diagnosis& d) {
  // A few elements fit some cause by chance.
  constexpr std::size_t kEnough = 8;
  const bool named =
      d.kind == diagnose::Diagnosis::Kind::named && d.causes[0].proven && d.tried_diverging >= kEnough;
  return named ? d.causes[0].name : std::string();
}

// Failures of the row that have another cause than its first ones, by twos and threes.
class OtherCauses {
 public:
  OtherCauses(Causes& causes, std::string first, Clock::time_point end)
      : causes_(causes), end_(end), known_{{std::move(first), {}, kFailuresPerKind}} {}

  // Gives the failure its own diagnosis, if it has another cause than those that are known.
  bool take(Failure& failure, diagnose::Evidence& evidence) {
    for (Known& k : known_)
      if (!k.cause.empty() && diagnose::explains(k.cause, evidence).value_or(false)) return add(k, failure);
    if (known_.size() == kCausesPerKind) return false;
    diagnose::Evidence* const one[] = {&evidence};
    const diagnose::Diagnosis d = causes_.of(one, std::min<Clock::duration>(end_ - Clock::now(), kOneOther));
    const std::string cause = certain_cause(d);
    // What is not certain may be the same.
    if (cause.empty() || std::ranges::find(known_, cause, &Known::cause) != known_.end()) return false;
    known_.push_back({cause, summary(d), 0});
    return add(known_.back(), failure);
  }

 private:
  static constexpr std::chrono::milliseconds kOneOther = kOtherCausesTime / 2;

  struct Known {
    std::string cause;
    std::string said;
    std::size_t failures;
  };

  static bool add(Known& k, Failure& failure) {
    if (k.failures == kFailuresPerKind) return false;
    ++k.failures;
    failure.diagnosis = k.said;
    return true;
  }

  Causes& causes_;
  Clock::time_point end_;
  std::vector<Known> known_;
};

// Of large cases no more than there is time for.
void show_further(Causes& causes, const std::vector<Failure>& further, std::deque<Shown>& more) {
  if (further.empty()) return;
  const StopScope scope([end = Clock::now() + kOtherCausesTime / 2] { return Clock::now() > end; });
  try {
    causes.show(further, more);
  } catch (const Stopped&) {
    return;
  }
}

// The first failures have one cause, it is thought. Where few of their elements diverge, which fit much, the next ones may say more, if
// that is theirs as well.
diagnose::Diagnosis of_the_first(Causes& causes, std::deque<Shown>& first, std::deque<Shown>& further,
                                 Clock::time_point end) {
  constexpr std::uint64_t kFew = 16, kMany = 128;  // elements
  std::vector<diagnose::Evidence*> calls = Causes::evidence_of(first);
  std::uint64_t diverging = 0;
  for (const diagnose::Evidence* e : calls) diverging += e->diverging();
  const std::size_t alone = calls.size();
  if (diverging < kFew)
    for (auto next = further.begin(); next != further.end() && diverging < kMany; ++next) {
      calls.push_back(&next->evidence);
      diverging += next->evidence.diverging();
    }
  if (calls.size() > alone) {
    diagnose::Diagnosis d = causes.of(calls, (end - Clock::now()) / 2);
    if (d.kind == diagnose::Diagnosis::Kind::named) return d;
  }
  return causes.of(std::span(calls).first(alone), end - Clock::now());
}

// Beside what is known of the first failures together, which is of none of these if they have one cause.
void diagnose_others(Causes& causes, std::deque<Shown>& first, const diagnose::Diagnosis& d,
                     std::vector<Failure>& failures, std::deque<Shown>& further, Clock::time_point end) {
  OtherCauses others(causes, certain_cause(d), end);
  const StopScope scope([&] { return Clock::now() > end; });
  try {
    if (certain_cause(d).empty() && d.kind != diagnose::Diagnosis::Kind::recovered && first.size() > 1)
      for (Shown& s : first)
        if (const auto f = std::ranges::find(failures, s.failure->index, &Failure::index);
            f != failures.end())
          others.take(*f, s.evidence);
    for (Shown& s : further) {
      Failure failure = *s.failure;
      if (others.take(failure, s.evidence)) failures.push_back(std::move(failure));
    }
  } catch (const Stopped&) {  // what was found until then stays
  }
  std::ranges::stable_sort(failures, {}, &Failure::index);
}

}  // namespace

void diagnose_failures(Examiner& examiner, const Kernel& kernel, std::vector<Failure>& failures,
                       const std::vector<Failure>& further, const std::atomic<bool>& interrupted,
                       Clock::time_point until) {
  if (std::ranges::none_of(failures, [](const Failure& f) { return f.kind == Verdict::diverged; })) return;
  const Clock::time_point end = std::min(until, Clock::now() + kDiagnosisTime);
  const StopScope scope([&] { return interrupted || Clock::now() > end; });
  const auto say = [&](const std::string& said) {
    for (Failure& f : failures)
      if (f.kind == Verdict::diverged) f.diagnosis = said;
  };
  const std::vector<Failure> as_found = failures;
  Causes causes(examiner, kernel, interrupted);
  try {
    std::deque<Shown> shown, more;
    causes.show(as_found, shown);
    if (shown.empty()) return;
    show_further(causes, further, more);
    const diagnose::Diagnosis d = of_the_first(causes, shown, more, end);
    say(summary(d));
    diagnose_others(causes, shown, d, failures, more, std::min(end, Clock::now() + kOtherCausesTime));
  } catch (const Stopped&) {
    say("not looked for, as no time was left: `assay diagnose` on the case file looks");
  }
}

}  // namespace assay

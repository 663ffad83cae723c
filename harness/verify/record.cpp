#include "record.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "../generate/data.h"
#include "../generate/shrink.h"
#include "../recorded/recorded_call.h"
#include "allowance.h"
#include "keep_file.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

Examined not_run(const Case& c, const Kernel& kernel) {
  Examined e;
  e.call = materialise(c);
  e.findings.resize(1);
  e.findings[0].kernel = &kernel;
  e.findings[0].stopped = true;
  return e;
}

}  // namespace

void record_failure(Examiner& examiner, const Kernel& kernel, Failure& failure, const std::string& dtype,
                    const std::string& folder, const FailureOptions& options) {
  const Kernel* const kernels[] = {&kernel};
  Further further = Further::none;
  const auto examine = [&](const Case& c) {
    // What shows in further runs alone may come of what ran before in the process.
    if (further != Further::none) examiner.start_afresh();
    return std::move(examiner.examine({&c, 1}, kernels,
                                      {.properties = true, .keep_outputs = true, .further = further})[0]);
  };
  const Case original = parse_case(failure.case_text);
  Case smallest = original;
  std::string unfinished;
  if (options.run && failure.kind != Verdict::timeout && !failure.harms_others) {
    examiner.start_afresh();
    if (const Finding f = examine(original).findings[0]; !f.stopped && f.judgement.verdict != failure.kind) {
      further = Further::all;
      // In a process of its own the same fault may look otherwise: a call that was wrong from the start is wrong after many.
      const Verdict now = examine(original).findings[0].judgement.verdict;
      if (is_fault(now)) failure.kind = now;
    }
  }
  // What shows at times only comes with the next call as well as with a smaller one: it would be made smaller by chance, for as long as
  // there is time.
  const auto shows_each_time = [&] {
    constexpr int kTimes = 3;
    for (int time = 0; time < kTimes; ++time) {
      const Finding f = examine(original).findings[0];
      if (f.stopped) throw Stopped();
      if (f.judgement.verdict != failure.kind) return false;
    }
    return true;
  };
  const std::optional<Sequence> sequence = sequence_of(failure, kernel, options.kernel_of);
  std::optional<Consequence> consequence;
  if (sequence && options.run) consequence = examiner.consequence_of(*sequence);
  // What shows in others stays as it is.
  if (options.shrink_budget > 0 && !failure.harms_others) {
    using Clock = std::chrono::steady_clock;
    // A hang costs the whole time limit at each try.
    const auto begin = Clock::now(), end = std::min(options.until, begin + kShrinkTime);
    bool stopped = false;
    const auto is_over = [&] {
      return stopped || Clock::now() > end || (options.interrupted != nullptr && *options.interrupted);
    };
    const auto still_fails = [&](const Case& c) {
      const StopScope scope(is_over);
      if (scope.over()) throw Stopped();
      const Examined e = examine(c);
      stopped = e.findings[0].stopped;
      if (e.findings[0].applicable && e.findings[0].judgement.verdict == failure.kind) smallest = c;
      return smallest == c;
    };
    try {
      const StopScope scope(is_over);
      if (failure.kind == Verdict::timeout || shows_each_time())
        shrink(original, still_fails, options.shrink_budget);
      else
        unfinished = " (not made small: it shows at times only)";
    } catch (const Stopped&) {
      unfinished = fmt::format(" (not made {}: that ended after {:.1f} s)",
                               smallest == original ? "small" : "smaller still",
                               std::chrono::duration<double>(Clock::now() - begin).count());
    }
  }

  Examined shown = options.run ? examine(smallest) : not_run(original, kernel);
  if (shown.findings[0].judgement.verdict != failure.kind && smallest != original) {
    smallest = original;
    shown = examine(original);
  }
  if (shown.call.op == nullptr) shown = not_run(smallest, kernel);
  write_failure(shown, kernel, smallest, failure.case_text, failure, dtype, folder, options.contract,
                sequence ? &*sequence : nullptr, consequence ? &*consequence : nullptr);
  failure.detail += unfinished;
}

void write_failure(const Examined& shown, const Kernel& kernel, const Case& c, const std::string& found_as,
                   Failure& failure, const std::string& dtype, const std::string& folder,
                   const std::string& contract, const Sequence* sequence, const Consequence* consequence) {
  const bool by_another = consequence != nullptr && is_fault(consequence->after.judgement.verdict);
  const bool stopped = consequence != nullptr ? consequence->alone.stopped || consequence->after.stopped
                                              : shown.findings[0].stopped;
  const bool again = by_another || (!stopped && shown.findings[0].judgement.verdict == failure.kind);
  const std::string case_text = text(c);
  CaseFile file = new_case_file();
  file.calls.push_back(record_call(case_text, c.seed, shown.call, kernel, shown.findings[0].judgement,
                                   shown.findings[0].outputs));
  RecordedCall& call = file.calls.back();
  call.notes["found_as"] = found_as;
  if (!contract.empty()) call.notes[kJudgedBy] = contract;
  failure.contract = contract;
  if (!failure.diagnosis.empty()) call.notes["diagnosis"] = failure.diagnosis;
  if (sequence != nullptr)
    record_sequence(*sequence, consequence != nullptr && !stopped ? &consequence->after : nullptr, call);
  if (again && !failure.harms_others) {
    failure.detail = shown.findings[0].judgement.detail;
  } else {
    call.verdict = token(failure.kind);
    call.detail = failure.detail;
    if (!again && (!failure.harms_others || consequence != nullptr))
      failure.detail += stopped ? " (the run was stopped before the call was recorded with its results)"
                                : " (it did not show again when the call was recorded)";
  }
  call.attempts = stopped ? 0 : 1;
  call.failed_attempts = again ? 1 : 0;
  const std::string name = safe_file_name(fmt::format("{}-{}-{}-{}-{}", kernel.op->schema.name, kernel.name,
                                                      dtype, token(failure.kind), failure.index));
  failure.case_text = case_text;
  if (kernel.name.starts_with(kPluginPrefix)) failure.plugin = call.plugin;
  try {
    failure.replay = keep_case_file(folder, name, file).string();
  } catch (const FileError& e) {  // the fault is there, file or not
    failure.detail += fmt::format(" (there is no case file: {})", e.what());
  }
}

}  // namespace assay

#include "record.h"

#include <fmt/format.h>

#include <chrono>

#include "../generate/data.h"
#include "../generate/shrink.h"
#include "keep_file.h"
#include "recorded.h"

namespace assay {
namespace {

// A hang costs the whole time limit at each try.
constexpr std::chrono::seconds kShrinkTime{20};

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
  const auto examine = [&](const Case& c) {
    return std::move(examiner.examine({&c, 1}, kernels, {.properties = true, .keep_outputs = true})[0]);
  };
  const Case original = parse_case(failure.case_text);
  Case smallest = original;
  if (options.shrink_budget > 0) {
    const auto deadline = std::chrono::steady_clock::now() + kShrinkTime;
    bool stopped = false;
    const auto still_fails = [&](const Case& c) {
      if (stopped || std::chrono::steady_clock::now() > deadline) return false;
      const Examined e = examine(c);
      stopped = e.findings[0].stopped;
      return e.findings[0].applicable && e.findings[0].judgement.verdict == failure.kind;
    };
    smallest = shrink(original, still_fails, options.shrink_budget).smallest;
  }

  Examined shown = options.run ? examine(smallest) : not_run(original, kernel);
  if (shown.findings[0].judgement.verdict != failure.kind && smallest != original) {
    smallest = original;
    shown = examine(original);
  }
  write_failure(shown, kernel, smallest, failure.case_text, failure, dtype, folder);
}

void write_failure(const Examined& shown, const Kernel& kernel, const Case& c, const std::string& found_as,
                   Failure& failure, const std::string& dtype, const std::string& folder) {
  const bool stopped = shown.findings[0].stopped;
  const bool again = !stopped && shown.findings[0].judgement.verdict == failure.kind;
  const std::string case_text = text(c);
  CaseFile file = new_case_file();
  file.calls.push_back(record_call(case_text, c.seed, shown.call, kernel, shown.findings[0]));
  RecordedCall& call = file.calls.back();
  call.notes["found_as"] = found_as;
  if (!failure.diagnosis.empty()) call.notes["diagnosis"] = failure.diagnosis;
  if (again) {
    failure.detail = shown.findings[0].judgement.detail;
  } else {
    call.verdict = token(failure.kind);
    call.detail = failure.detail;
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

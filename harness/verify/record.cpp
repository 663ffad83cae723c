#include "record.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "../generate/shrink.h"
#include "recorded.h"

namespace assay {
namespace {

// A hang costs the whole time limit at each try.
constexpr std::chrono::seconds kShrinkTime{20};

std::string file_name(const Failure& f, const Kernel& kernel, const std::string& dtype) {
  std::string s =
      fmt::format("{}-{}-{}-{}-{}.h5", kernel.op->schema.name, kernel.name, dtype, token(f.kind), f.index);
  for (char& c : s)
    if (c == ':' || c == '/' || c == ' ') c = '_';
  return s;
}

}  // namespace

void record_failure(Examiner& examiner, const Kernel& kernel, Failure& failure, const std::string& dtype,
                    const std::string& folder, int shrink_budget) {
  const Kernel* const kernels[] = {&kernel};
  const auto examine = [&](const Case& c) {
    return std::move(examiner.examine({&c, 1}, kernels, {.properties = true, .keep_outputs = true})[0]);
  };
  const Case original = parse_case(failure.case_text);
  Case smallest = original;
  if (shrink_budget > 0) {
    const auto deadline = std::chrono::steady_clock::now() + kShrinkTime;
    const auto still_fails = [&](const Case& c) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      const Examined e = examine(c);
      return e.findings[0].applicable && e.findings[0].judgement.verdict == failure.kind;
    };
    smallest = shrink(original, still_fails, shrink_budget).smallest;
  }

  Examined shown = examine(smallest);
  if (shown.findings[0].judgement.verdict != failure.kind && smallest != original) {
    smallest = original;
    shown = examine(original);
  }
  write_failure(shown, kernel, smallest, failure.case_text, failure, dtype, folder);
}

void write_failure(const Examined& shown, const Kernel& kernel, const Case& c, const std::string& found_as,
                   Failure& failure, const std::string& dtype, const std::string& folder) {
  const bool again = shown.findings[0].judgement.verdict == failure.kind;
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
    failure.detail += " (it did not show again when the call was recorded)";
  }
  call.attempts = 1;
  call.failed_attempts = again ? 1 : 0;
  const auto path = std::filesystem::path(folder) / file_name(failure, kernel, dtype);
  write_case_file(path.string(), file);
  failure.case_text = case_text;
  failure.replay = path.string();
}

}  // namespace assay

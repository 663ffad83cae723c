// Makes a failure small and writes the file that replays it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "../examine/examine.h"
#include "../examine/sequence.h"
#include "reports/result.h"

namespace assay {

struct FailureOptions {
  bool run = true;        // false: the case is not run again, and its file has no results
  int shrink_budget = 0;  // tries
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();  // of these
  const std::atomic<bool>* interrupted = nullptr;  // ends them, too
  std::string contract = {};                       // what --contract said
  KernelOf kernel_of = {};                         // of those that others did harm to
};

// Shrinks the failure's case with at most so many tries (0: not at all), each of which must show the same
// verdict on the same kernel; the detail says where time ended that. Then writes a case file into `folder` and fills failure.case_text, detail, replay and plugin.
// A failure that does not show again keeps its detail, and the file says so. Where no file can be written, the detail says
// why, and replay stays empty. Of a kernel that damaged its process the file has the call of the other one that showed it, too.
void record_failure(Examiner& examiner, const Kernel& kernel, Failure& failure, const std::string& dtype,
                    const std::string& folder, const FailureOptions& options);

// A note of a case file: what --contract said when the call was judged, so that a replay does the same.
inline constexpr const char* kJudgedBy = "judged_by";

// The file of a failure that was shown by `shown`, the case run again on this kernel alone with its outputs kept.
// `found_as` says where the case came from,
// `contract` what --contract said; `sequence` and `consequence` are what the kernel did to another one, or null.
void write_failure(const Examined& shown, const Kernel& kernel, const Case& c, const std::string& found_as,
                   Failure& failure, const std::string& dtype, const std::string& folder,
                   const std::string& contract, const Sequence* sequence = nullptr,
                   const Consequence* consequence = nullptr);

}  // namespace assay

// Between calls in memory and calls in case files. Files are not to be trusted: what is at odds with the case text, or no value of its
// attribute, is an error of the file's.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "../files/case_file.h"
#include "../judge/judge.h"

namespace assay {

// The call with what the kernel gave, packed or nothing, what was said of it, and what was expected. `case_text` must be the call's own.
RecordedCall record_call(const std::string& case_text, std::uint64_t seed, const Call& call,
                         const Kernel& kernel, const Judgement& judgement, const PackedResults& outputs);

// The call with its inputs alone.
RecordedCall record_inputs(const std::string& case_text, std::uint64_t seed, const Call& call,
                           const Kernel& kernel);

struct Replayable {
  Case parsed;
  Call call;  // with the recorded data, bit for bit
};
// Throws CaseError if the case text does not parse any more, is of another operator than the call, or of tensors of another dtype or
// shape than the recorded ones.
Replayable replayable(const RecordedCall& recorded);

// What was recorded of each output of the call, or nothing. Throws CaseError for a result of another dtype or shape.
ExpectedOutputs recorded_results(const RecordedCall& recorded, const Call& call);
// Nothing if none was recorded. Throws std::invalid_argument for what is no verdict.
std::optional<Verdict> recorded_verdict(const RecordedCall& recorded);

// What `work` gives that looks at a recorded call; of what is wrong with the call, it says where that is: "t.h5, call 3".
template <class Work>
auto at_place(const std::string& place, const Work& work) {
  try {
    return work();
  } catch (const std::invalid_argument& e) {
    throw FileError(fmt::format("{}: {}", place, e.what()));
  }
}

// A case file with this machine's particulars and no calls yet.
CaseFile new_case_file();

}  // namespace assay

// Between calls in memory and calls in case files.
#pragma once

#include "../files/case_file.h"
#include "examine.h"

namespace assay {

// The call with what the kernel gave and what was expected of it. `case_text` must be the call's own.
RecordedCall record_call(const std::string& case_text, std::uint64_t seed, const Call& call,
                         const Kernel& kernel, const Finding& finding);

struct Replayable {
  Case parsed;
  Call call;  // with the recorded data, bit for bit
};
// Throws CaseError if the case text does not parse any more.
Replayable replayable(const RecordedCall& recorded);

// A case file with this machine's particulars and no calls yet.
CaseFile new_case_file();

}  // namespace assay

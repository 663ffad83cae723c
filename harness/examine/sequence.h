// Calls of one kernel and one of another after them, which shows what the first does to its process: from a failure to a case file, and
// back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "../files/case_file.h"
#include "examine.h"
#include "reports/result.h"

namespace assay {

// The kernel of this name for this operator that takes part, or null.
using KernelOf = std::function<const Kernel*(std::string_view op, const std::string& impl)>;

// Notes of a case file, with the value kAgainAndAgain: the call, or the one after it, is made again and again.
inline constexpr const char* kRepeats = "repeats";
inline constexpr const char* kAgainAndAgain = "again and again";

// What is said of a kernel that damaged its process: whose call was wrong after it, and how. `case_text` may be empty.
std::string harm_text(const std::string& victim, const std::string& case_text, const Judgement& judgement);

// Nothing where the failure is no such, or the other kernel does not take part.
std::optional<Sequence> sequence_of(const Failure& failure, const Kernel& kernel, const KernelOf& kernel_of);

// Adds all but the call itself, which `call` is. `after`: what the other kernel's call came to, or null.
void record_sequence(const Sequence& sequence, const Finding* after, RecordedCall& call);

// With the recorded data, bit for bit. `call` has another one's call. Throws CaseError as replayable() does.
Sequence recorded_sequence(const RecordedCall& call, const Kernel& kernel, const Kernel& victim);

}  // namespace assay

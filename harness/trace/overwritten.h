// Results that were written down too late: when a later call had written over them in place, as the program has it (an activation
// that keeps no memory of its own). What the dump has then says nothing of the call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "../diagnose/evidence.h"
#include "dump.h"
#include "known.h"

namespace assay {

// The call after which an output of the dump is what stands there: each of its elements that is no right result of `evidence` is, nearly,
// what that call left, as the dump has its result, as its reference gives it, or as it was recorded. Nothing if there is none.
std::optional<std::string> overwritten_by(const CaseFile& trace, const Dump& dump, std::size_t call,
                                          const std::string& output, diagnose::Evidence& evidence,
                                          const KnownResult& came);

}  // namespace assay

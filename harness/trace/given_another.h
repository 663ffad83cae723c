// Calls that were given another call's result than the program gives them, or theirs in another order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../diagnose/evidence.h"
#include "dump.h"
#include "given_call.h"
#include "known.h"

namespace assay {

struct GivenAnother {
  std::string argument;
  std::string call;  // what gave it
};
// Each other result, of a call before this one or of a later one that does not follow from it, with which all of what the call gave is
// right. Looks at calls that diverge on what they should have been given, of one argument at a time.
std::vector<GivenAnother> given_another(const CaseFile& trace, const Dump& dump, const KnownResults& results, std::size_t call,
                                        diagnose::Evidence& own);

// Of a call that only joins tensors, by what it gave: in which other order they are joined, or which other call's result stands for one of
// them. Nothing if neither gives it to the bit.
std::optional<std::string> joined_otherwise(const CaseFile& trace, const KnownResults& results, std::size_t call, const GivenCall& given,
                                            const TensorData& came);

}  // namespace assay

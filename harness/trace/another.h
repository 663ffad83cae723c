// Whose numbers stand where the result of a call belongs: that of another call, if memory was used again too early, or the wrong
// tensor was written down.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "dump.h"

namespace assay {

// Whether nearly all numbers are nearly the same. Precondition: as many elements.
bool are_alike(const TensorData& a, const TensorData& b);

// The nearest call whose result `came` is, all of it: as the dump has it, or nearly so as it was recorded. Nothing if it says little,
// such as zeros, or if `right`, what belongs there, is like that result as well.
std::optional<std::string> of_another_call(const CaseFile& trace, Dump& dump, std::size_t call,
                                           const TensorData& came, const TensorData& right);

}  // namespace assay

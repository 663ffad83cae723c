// A call's result as a dump has it, beside what the call should give.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "bisect.h"
#include "dump.h"
#include "vocabulary/check.h"

namespace assay {

struct Dumped {
  TensorData data;  // as it is dumped if it has another shape, else in the dtype that is expected
  std::optional<Dtype> narrower;  // the dump's dtype, if that is narrower
};

// The call's output of this name; nothing if the dump does not have it, or has numbers that the expected dtype does not. What is said of that,
// and how it was found, is added to `result`.
std::optional<Dumped> result_of(Dump& dump, std::size_t k, const std::string& output,
                                const Checked::Output& expected, BisectedCall& result);

}  // namespace assay

// Numbers that an engine keeps as integers, and what they were before: each is to be the nearest that its step allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../model/call.h"

namespace assay {

// Of a tensor that a DequantizeLinear gave, in the dump's names: the step, one or one for each index of a dimension; the number that is
// zero; and the integers.
struct QuantisedBy {
  std::string scale, zero_point, integers;  // the last two may be empty
};

struct Steps {
  TensorData scale;                      // one number, or as many as some dimension has indices
  std::optional<TensorData> zero_point;  // the same, or nothing for 0
  std::optional<Dtype> integers;         // their dtype, if it is known
};

// What is to be said of numbers that are kept so, "i8, a step for each index of dimension 0"; nothing if one of them is not the nearest
// to what it was that there is. Both are packed, of one shape.
std::optional<std::string> nearest_by(const Steps& steps, const TensorData& before, const TensorData& after);

// In dB; nothing if it cannot be said, infinite if the results are the same.
std::optional<double> signal_to_noise(const TensorData& right, const TensorData& came);

}  // namespace assay

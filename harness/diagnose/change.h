// What became of a tensor between two moments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../model/call.h"

namespace assay::diagnose {

// In words, by the faults that a copy may have: "40 of 640 elements differ: ..", "its shape is [5x3] instead of [3x5]; rearranged: ..".
// Precondition: they are not the same.
std::string change(const TensorData& before, const TensorData& after);

// A tensor that something may have been written from.
struct Source {
  std::string name;
  std::function<TensorData()> read;
  std::string own =
      {};  // if it is itself a tensor of the call at hand: which one, as nothing is written from itself
};

// Whose numbers stand where the tensor changed: "elements 0 to 39 are those of head.weight from element 0". Of the longest part that
// changed, if it has at least four elements that are not all the same, and is found among the sources to the bit. Among sources in more
// or fewer bits, and where what was before has others, it needs four different numbers, and is found as the fewer bits have them.
// Precondition: they have one shape.
std::optional<std::string> written_from(const TensorData& before, const TensorData& after,
                                        const std::vector<Source>& sources);

}  // namespace assay::diagnose

// Calls whose results a dump does not have, with what the engine gave them: what a region is put together from (region.h).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../files/case_file.h"
#include "../model/call.h"
#include "known.h"

namespace assay {

// A tensor as a call got it.
struct GivenTensor {
  TensorData data;             // packed
  std::vector<double> within;  // as in KnownResult
  Assumed assumed;  // the same: where there are any, the numbers are the reference's and not the engine's
};

// A call that a graph may have as a node. Arguments are in the order of its schema.
struct GivenCall {
  std::string node;  // the operator's or movement's name in a graph
  struct Argument {
    std::string name;
    std::string text{};                  // of what is no tensor: as a graph has it
    std::vector<std::string> tensors{};  // their keys in the trace: "self", or "tensors/0", "tensors/1"
    bool is_list = false;
    std::optional<double> epsilon{};  // a small number that is added where something must not become 0
  };
  std::vector<Argument> arguments{};
  std::vector<std::string> results{};            // their names in the trace
  std::map<std::string, GivenTensor> tensors{};  // by key
};
using GivenCalls = std::map<std::size_t, GivenCall>;  // by their place in the trace

// Without its tensors; nothing if a graph has neither the operator nor the movement.
std::optional<GivenCall> as_node(const RecordedCall& recorded);

}  // namespace assay

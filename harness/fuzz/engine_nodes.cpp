// The nodes of an engine: parse_engine_nodes() throws std::invalid_argument, or gives nodes whose operators have names.
#include "../trace/engine_nodes.h"

#include <stdexcept>

#include "../trace/node_kinds.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {R"({"format": "assay.engine/1", "engine": "own 1", "settings": {"threads": 2, "precision": "f32"}, "inputs": [{"tensor": "x"}],
 "outputs": [{"tensor": "y"}], "parameters": [{"tensor": "w"}], "nodes": [{"name": "n", "op": "Conv", "inputs": ["x", "w", ""],
 "outputs": ["y"], "module": "stem.conv", "call": "aten.conv2d.default", "attributes": {"strides": [1, 1]}}]})",
          R"({"format": "assay.engine/1"})"};
}

bool run(std::string_view input) {
  try {
    for (const EngineNode& node : parse_engine_nodes(input).nodes) {
      const int place = input_of("convolution", "weight", node.op);
      if (place >= 0 && fit_of("convolution", node.op) != Fit::yes) broken("an argument of another operator");
    }
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

}  // namespace

const Target kEngineNodes{"engine_nodes", seeds, run};

}  // namespace assay::fuzz

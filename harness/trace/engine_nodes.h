// What an engine computed, node by node: the side file of a dump, assay.engine/1.
//
// An adapter (assay.engines of the Python package) writes it beside the dump: engine.npz has engine.nodes.json. bisect takes from it which
// call of the program a tensor of the dump belongs to (matching.h). docs/file-formats.md has an example.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/dtype.h"

namespace assay {

struct EngineNode {
  std::string name, op;                      // "node_conv2d", "Conv"
  std::string module;                        // PyTorch's path of the module that it was exported from, or empty
  std::string call;                          // PyTorch's operator, "aten.conv2d.default", or empty
  std::vector<std::string> inputs, outputs;  // names of tensors; an input that was left out is empty
};

struct EngineNodes {
  std::string engine;                         // "onnxruntime 1.32.0"
  std::map<std::string, std::string> settings;  // as text
  std::vector<std::string> inputs, outputs;   // of the model
  std::vector<std::string> parameters;        // tensors of the dump that are the engine's own constants
  std::vector<EngineNode> nodes;              // in the order in which they ran
};

// The format to which the engine rounds what it computes with in f32, bf16 or f16, as its setting inference_precision says; or nothing.
std::optional<Dtype> precision_of(const EngineNodes& nodes);

// Throws std::invalid_argument that says what is wrong, and where.
EngineNodes parse_engine_nodes(std::string_view json);

// Throws FileError.
EngineNodes read_engine_nodes(const std::string& path);

// "folder/engine.nodes.json" for "folder/engine.npz", where there is such a file; else empty.
std::string nodes_beside(const std::string& dump);

}  // namespace assay

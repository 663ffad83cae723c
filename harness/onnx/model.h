// What Assay reads of ONNX's files: models of operators, and tensors (onnx.proto of ONNX 1.12).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../files/case_file.h"

namespace assay::onnx {

// Well-formed, but nothing that Assay has: strings, complex numbers, data in another file.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Attribute {
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  bool is_graph = false;
};

struct Node {
  std::string op_type;
  std::string domain;
  std::vector<std::string> inputs;  // names; empty where one is left out
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;
};

struct Model {
  std::int64_t opset = 0;  // of ONNX's own domain
  std::vector<Node> nodes;
  std::vector<std::string> inputs;
  std::set<std::string> not_tensors;  // inputs and outputs that are sequences, maps or optionals
  std::vector<std::string> outputs;
  std::map<std::string, RecordedTensor> initializers;
};

// Of the bytes of a model.onnx, and of a TensorProto (input_0.pb). Throw ProtobufError for bytes that are no such
// message and Unsupported; for tensors also where data and shape do not fit together (ProtobufError).
Model read_model(std::string_view bytes);
RecordedTensor read_tensor(std::string_view bytes);

}  // namespace assay::onnx

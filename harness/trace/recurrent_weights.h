// The weights and results of an engine's recurrent layers as PyTorch has them, which has one tensor for each direction, the gates in another
// order, and both directions in one dimension.
#pragma once

#include <map>
#include <string>

#include "../tensors/tensor_file.h"
#include "engine_nodes.h"

namespace assay {

// A dump, and beside each weight W, R and B of an LSTM, GRU or RNN of ONNX the parameters that it holds: "W:weight_ih", "W:weight_ih_reverse".
// And beside each result Y, [steps, directions, batch, hidden], "Y:steps_first" and "Y:batch_first".
class RecurrentWeights final : public TensorFile {
 public:
  // The file must outlive this object.
  RecurrentWeights(const TensorFile& file, const EngineNodes& nodes);

  RecordedTensor read(const TensorEntry& entry) const override;
  std::optional<std::span<const std::byte>> view(const TensorEntry& entry) const override;

  bool is_part(const std::string& name) const { return parts_.contains(name); }
  // Of an argument of the layer's graph; empty if the node has nothing of it.
  static std::string name_of(const EngineNode& node, const std::string& argument);
  // "Y" of "Y:batch_first"; any other name as it is.
  static std::string engines_own(const std::string& name);

 private:
  struct Part {
    std::string of;                          // the engine's tensor
    std::vector<std::int64_t> blocks{};      // of so many rows, in PyTorch's order: of which row each begins
    std::int64_t rows = 0, row_elements = 0;
    bool is_result = false;
  };
  void add_parts(const EngineNode& node);
  void add_result(const TensorEntry& y);
  void add_part(const TensorEntry& of, const std::string& argument, const Part& part, const Shape& shape);
  const TensorEntry* find(const std::string& name) const;

  const TensorFile& file_;
  std::map<std::string, Part> parts_;
};

}  // namespace assay

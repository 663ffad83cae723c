// What the names of a dump say of its tensors where nothing else does: exporters of ONNX name values after modules and operators.
//
//   /stem/conv/Conv_output_0    a Conv of the module stem.conv      PyTorch's exporter by TorchScript
//   hardswish, conv2d_1         the first hardswish, the second conv2d      PyTorch's exporter by dynamo
#pragma once

#include <set>
#include <string>

#include "../tensors/tensor_file.h"
#include "engine_nodes.h"

namespace assay {

// A node for each tensor whose name says what it is, without inputs, in the file's order; not for those in `known`.
EngineNodes nodes_by_names(const TensorFile& dump, const std::set<std::string>& known);

}  // namespace assay

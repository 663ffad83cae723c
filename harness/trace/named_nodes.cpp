#include "named_nodes.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "node_kinds.h"

namespace assay {
namespace {

bool is_digits(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, [](char c) { return c >= '0' && c <= '9'; });
}

// "conv2d" of "conv2d_1".
std::string_view without_count_at_end(std::string_view name) {
  const std::size_t at = name.rfind('_');
  return at != std::string_view::npos && is_digits(name.substr(at + 1)) ? name.substr(0, at) : name;
}

std::optional<EngineNode> by_torch_script(const std::string& name) {
  constexpr std::string_view kOutput = "_output_";
  const std::size_t output = name.rfind(kOutput), slash = name.rfind('/', output);
  if (!name.starts_with('/') || output == std::string::npos || slash == std::string::npos ||
      !is_digits(std::string_view(name).substr(output + kOutput.size())))
    return std::nullopt;
  EngineNode node;
  node.name = name;
  node.op = without_count_at_end(std::string_view(name).substr(slash + 1, output - slash - 1));
  if (slash > 0) node.module = name.substr(1, slash - 1);
  std::ranges::replace(node.module, '/', '.');
  return node;
}

// Names of operators of PyTorch that others than its kernels' have.
std::string_view as_kernel(std::string_view function) {
  if (function.starts_with("conv") || function.starts_with("conv_transpose")) return "convolution";
  if (function == "linear") return "addmm";
  if (function == "layer_norm" || function == "group_norm" || function == "batch_norm")
    return function == "layer_norm" ? "native_layer_norm" : function == "group_norm" ? "native_group_norm" : "native_batch_norm";
  return function;
}

std::optional<EngineNode> by_dynamo(const std::string& name) {
  const std::string_view function = without_count_at_end(name);
  if (function.empty() || !std::ranges::all_of(function, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      }))
    return std::nullopt;
  if (!is_known_call(as_kernel(function))) return std::nullopt;
  EngineNode node;
  node.name = name;
  node.op = as_kernel(function);
  node.call = "aten." + std::string(function);
  return node;
}

}  // namespace

EngineNodes nodes_by_names(const TensorFile& dump, const std::set<std::string>& known) {
  EngineNodes all;
  for (const TensorEntry& e : dump.entries()) {
    if (known.contains(e.name)) continue;
    std::optional<EngineNode> node = by_torch_script(e.name);
    if (!node) node = by_dynamo(e.name);
    if (!node) continue;
    node->outputs = {e.name};
    all.nodes.push_back(*std::move(node));
  }
  return all;
}

}  // namespace assay

// What the nodes of an engine were given, followed back through its graph.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../files/case_file.h"
#include "../tensors/tensor_file.h"
#include "engine_nodes.h"

namespace assay {

struct Matched;

class NodeGraph {
 public:
  explicit NodeGraph(const EngineNodes& nodes);

  // The node that gives this tensor; nothing for inputs and constants.
  std::optional<std::size_t> node_of(const std::string& tensor) const;
  // Tensors that a node computes from, a few nodes back.
  std::set<std::string> before(std::size_t node) const;
  // The same, as long as the nodes in between hand numbers on as they are; the nearest first.
  std::vector<std::string> handed_on(const std::string& tensor) const;
  bool is_last_of_module(std::size_t node) const { return last_of_module_.contains(node); }

 private:
  const EngineNodes& nodes_;
  std::map<std::string, std::size_t> node_of_;
  std::set<std::size_t> last_of_module_;
};

// Parameters, received tensors and inputs of the model, for calls whose nodes are known.
void match_arguments(const CaseFile& trace, const TensorFile& dump, const EngineNodes& nodes,
                     const std::map<std::size_t, std::size_t>& node_of_call, Matched& matched);

}  // namespace assay

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
  // How many nodes back from a node a tensor is: 1 for what it reads; 0 if it is farther than a few, or nowhere there.
  int steps_from(const std::string& tensor, std::size_t node) const;
  // What a tensor was before, as long as the nodes in between hand numbers on as they are; the nearest first.
  // With `parts`, through those, too, that hand on a part.
  std::vector<std::string> handed_on(const std::string& tensor, bool parts = false) const;
  // Whether its numbers are computed of what the model is given, and not of constants alone.
  bool follows_from_inputs(const std::string& tensor) const { return following_.contains(tensor); }
  bool is_last_of_module(std::size_t node) const { return last_of_module_.contains(node); }

 private:
  const EngineNodes& nodes_;
  std::map<std::string, std::size_t> node_of_;
  std::set<std::size_t> last_of_module_;
  std::set<std::string> following_;
};

// The constants that nodes have, by name: of a node and of those that hand them on to it, also as integers; and of the MatMul before the
// Add of a bias, whose result is a linear layer's.
class NodeConstants {
 public:
  // Both must outlive this object.
  NodeConstants(const EngineNodes& nodes, const NodeGraph& graph, const TensorFile& dump);

  struct Constant {
    std::string tensor;
    std::size_t input;  // of the node, by which it comes
  };
  std::vector<Constant> of(std::size_t node) const;
  bool is_dumped(const std::string& tensor) const { return dumped_.contains(tensor); }

 private:
  void add(const std::string& given, std::size_t input, std::vector<Constant>& all) const;

  const EngineNodes& nodes_;
  const NodeGraph& graph_;
  std::set<std::string> parameters_, dumped_;
};

// Parameters, received tensors and inputs of the model, for calls whose nodes are known.
void match_arguments(const CaseFile& trace, const TensorFile& dump, const EngineNodes& nodes,
                     const std::map<std::size_t, std::size_t>& node_of_call, Matched& matched);

}  // namespace assay

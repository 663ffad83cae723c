// What the nodes of a graph are called with, and which shapes and dtypes their results have.
//
//   GraphShapes shapes(graph, arguments);
//   shapes.of(2)            // the results of node 2; of what it needs before, first
//   shapes.arguments(2)     // what it is called with: tensors that other nodes compute have a shape, and no data
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph.h"
#include "vocabulary/check.h"

namespace assay {

// The arguments of one node as the C interface has them.
class NodeArguments {
 public:
  NodeArguments() = default;
  NodeArguments(const NodeArguments&) = delete;
  NodeArguments& operator=(const NodeArguments&) = delete;

  std::span<const assay_value> values() const { return values_; }

 private:
  friend class GraphShapes;
  const assay_tensor* without_data(Dtype dtype, const Shape& shape);

  struct Tensor {
    assay_tensor view;
    std::vector<std::int64_t> shape, strides;
  };
  std::vector<assay_value> values_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<const assay_tensor*>> lists_;
};

class GraphShapes {
 public:
  // The arguments of the graph's call, which must live as long as this.
  GraphShapes(const Graph& graph, std::span<const assay_value> arguments);

  // Of the results of a node. Empty if it, or a node before it, is not called rightly: see fault().
  const std::vector<Checked::Output>& of(std::size_t node);
  const std::vector<Moved>& moved(std::size_t node);  // of a movement
  std::span<const assay_value> arguments(std::size_t node);
  // Of a value: a result of a node, an argument, or a number, which has no dimensions. None if that is not known.
  std::optional<Checked::Output> of(const GraphValue& value);

  // What is wrong: "swiglu, mul: mul.Tensor: other has shape ..."; the argument is one of the graph.
  const Checked& fault() const { return fault_; }

 private:
  struct Node {
    NodeArguments arguments;
    std::vector<Checked::Output> outputs;
    std::vector<Moved> moved;
    bool done = false;
  };
  // Of the node, and before it of those that it needs: graphs may be deep.
  void make(std::size_t node);
  void make_one(std::size_t node);
  bool put(NodeArguments& to, assay_value& at, const GraphValue& v, const Argument& a);
  const assay_tensor* tensor(NodeArguments& to, const GraphValue& v);
  void blame(std::size_t node, std::string error, int argument, Checked::Fault fault);
  std::string_view argument_behind(const GraphValue& value) const;
  // The dtype of numbers that are written out: that of the first tensor.
  Dtype usual() const { return usual_; }

  const Graph& graph_;
  std::span<const assay_value> arguments_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Dtype usual_ = Dtype::f32;
  Checked fault_;
};

// Whether the graph's text says this text of its operator (shapes or domains), which else is derived.
bool is_said(const Graph& graph, std::string_view part);

// check_arguments() of a graph. Shapes that its text says are demanded; those that are derived are for making cases.
Checked check_graph(const Operator& op, std::span<const assay_value> arguments);

}  // namespace assay

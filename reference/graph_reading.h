// Reading a graph with a scalar: each number that a node computes is computed when something asks for it, and kept.
//
// A node reads the numbers of those before it as they are (scalars/scalar.h, passed): nothing is rounded between nodes that a
// kernel need not round, and nothing is left out that it may.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/graph_check.h"
#include "reading.h"
#include "reference_of.h"

namespace assay {

// A call of a graph, read once: what every scalar's reader needs.
class GraphInputs {
 public:
  // Precondition: check_graph() gave `outputs`. The tensors' data is read here.
  GraphInputs(const Graph& graph, std::span<const assay_value> arguments,
              std::span<const Checked::Output> outputs);

  struct Node {
    std::unique_ptr<Inputs> inputs;  // of an operator
    std::span<const ResultFunctions> functions{};
    std::vector<Moved> moved{};  // of a movement
    std::vector<Checked::Output> outputs{};
    std::vector<bool> bends{};  // by result: graph_bends.h
  };

  const Graph& graph() const { return graph_; }
  const Inputs& inputs() const { return inputs_; }
  const Node& node(std::size_t k) const { return nodes_[k]; }
  std::span<const Checked::Output> outputs() const { return inputs_.outputs(); }
  // Of an argument of the graph that is a number: its value.
  double number(std::size_t argument) const;

 private:
  const Graph& graph_;
  Inputs inputs_;
  std::vector<Node> nodes_;
};

// Numbers by their place, some at a time: those that nobody asks for take no memory.
template <class S>
class KeptNumbers {
 public:
  static constexpr std::size_t kTogether = 64;
  struct Number {
    S value{};
    bool known = false;
    bool nonfinite = false;  // read_nonfinite() after it
    bool sharp = false;      // what the tape knows of its error is known
  };
  Number& at(std::int64_t n) {
    const auto page = static_cast<std::size_t>(n) / kTogether;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page] == nullptr) pages_[page] = std::make_unique<std::array<Number, kTogether>>();
    return (*pages_[page])[static_cast<std::size_t>(n) % kTogether];
  }
  void forget() { pages_.clear(); }

 private:
  std::vector<std::unique_ptr<std::array<Number, kTogether>>> pages_;
};

template <class S>
class GraphReader {
 public:
  explicit GraphReader(const GraphInputs& inputs) : inputs_(inputs), nodes_(inputs.graph().nodes.size()) {}

  S read(int output, std::int64_t element);
  std::int64_t row(int output, std::int64_t element) const;
  void read_all(int output, std::span<S> results);
  void forget();
  void set_direction(std::span<const std::vector<double>> direction);

 private:
  class Computed;
  struct Node {
    std::unique_ptr<Reader<S>> reader;
    std::vector<KeptNumbers<S>> kept;   // by result
    std::vector<std::vector<S>> whole;  // by result: all of them, or none
    int in_vain = 0;                    // how often in turn sharpening its numbers has changed little
    int reads = 0;
  };

  // What a node that takes this value reads; of the graph's own result, before it is stored.
  S value(const GraphValue& v, std::int64_t n, bool is_result = false);
  S of_node(const GraphValue& v, std::int64_t n, bool is_result);
  S computed(std::size_t node, std::size_t result, std::int64_t n);
  // What is computed from a number depends on how far it may be off, not on that alone which number it is. Where that is much, it and
  // its neighbours are sharpened.
  void sharpen(std::size_t node, std::size_t result, std::int64_t n);
  // All numbers of a node, and of those before it.
  void read_node(const GraphValue& v);
  bool is_computed_again(std::size_t node) const;
  Node& reader_of(std::size_t node);
  Given<S> given(std::size_t node, std::size_t argument, std::size_t which);

  const GraphInputs& inputs_;
  std::vector<Node> nodes_;
  std::vector<Tensor<S>> arguments_;  // of the graph
  std::span<const std::vector<double>> direction_;
  std::vector<std::unique_ptr<Source<S>>> computed_;
};

}  // namespace assay

// The calls in a graph's text: from an operator's name and what is given to it to a node.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph.h"
#include "graph_reader.h"

namespace assay {

// Something that an expression gives: a value of the graph, or a literal whose type its use decides.
struct GraphExpression {
  GraphValue value{};
  std::optional<std::string> literal{};  // as written: "-1", "[1, 2]", "none", "f32"
  std::vector<GraphExpression> items{};  // of "[x, y]"
  bool is_list = false;
  bool is_last = false;  // of a call: all of its results are meant
};

class GraphCalls {
 public:
  using Given = std::vector<std::pair<std::string, GraphExpression>>;  // a name, or "" by position

  // Errors have the line at which `read` is. Both live longer than this.
  GraphCalls(Graph& graph, const GraphReader& read) : graph_(graph), read_(read) {}

  // Adds the node.
  GraphExpression call(std::string_view name, const Given& given);
  // As a tensor: a value, or a number.
  GraphValue tensor(const GraphExpression& e, std::string_view use) const;
  void check_result(const GraphValue& v) const;
  void rename(std::size_t node, const std::string& name);
  // Operators that there are not, if some are called. Throws GraphError.
  void say_missing() const;

 private:
  void put(GraphNode& node, std::string_view name, const Given& given) const;
  GraphValue argument(const GraphNode& node, const Argument& a, const GraphExpression& e,
                      std::string_view of) const;

  Graph& graph_;
  const GraphReader& read_;
  std::map<std::string, std::size_t> used_;  // names of nodes
  std::map<std::string, std::vector<std::size_t>> missing_;
};

}  // namespace assay

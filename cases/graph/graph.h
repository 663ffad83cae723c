// Operators put together, as one operator with a name, a schema and a formula: what a fused kernel computes.
//
//   const Graph g = parse_graph("assay::swiglu(Tensor gate, Tensor up) -> Tensor { silu(gate) * up }");
//   g.op.schema.name        // "swiglu"
//   g.nodes[0].name         // "silu"
//
// The text of a graph (assay.graph/1):
//
//   assay::rms_norm(Tensor x, Tensor weight, float eps=1e-6) -> Tensor      # a schema
//     shapes x=[*,K] weight=[K] -> [*,K]                                    # optional, see vocabulary/shape_rule.h
//     domains eps: epsilon                                                  # optional, see Operator::domains
//   {
//     r = rsqrt(mean(x * x, -1, true) + eps)
//     return x * r * weight
//   }
//
// A statement gives names to the results of an expression (`q, k = chunk(x, 2, -1)`); the last one, with or without `return`, says the
// graph's results. An expression is a call of an operator of Assay or of a movement (movement.h), with arguments by position or
// by name; + - * /, which are add, sub, mul and div; a name; or a literal. A number stands for a tensor without dimensions
// where one is expected. `f(x)[1]` is the second result of f. A line ends a statement, as does ";"; "#" begins a comment.
//
// Shapes and domains that the text does not give are worked out from those of the nodes (graph_shapes.h).
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "movement.h"
#include "vocabulary/case.h"
#include "vocabulary/operator.h"

namespace assay {

class Reference;

// The text is no graph. The message says where, and lists the operators that there are not.
struct GraphError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Where the value of a node's argument, or of a result of the graph, comes from.
struct GraphValue {
  enum class From : std::uint8_t {
    none,      // left out
    argument,  // number `index` of the graph
    node,      // result `result` of node `index`
    literal,   // `literal`, which is no tensor
    number,    // `literal`, a number that stands for a tensor without dimensions
    list,      // tensors: `items`
  };
  From from = From::none;
  std::size_t index = 0;
  std::size_t result = 0;
  CaseValue literal{};
  std::vector<GraphValue> items{};
};

struct GraphNode {
  std::string name;                    // what the text calls its first result, or its operator and a number
  const Operator* op = nullptr;        // either this
  const Movement* movement = nullptr;  // or this
  const Reference* formula = nullptr;  // instead of the operator's own: of a mutant (graph_mutants.h)
  std::vector<GraphValue> arguments;   // one for each argument of the schema
  std::size_t line = 0;                // of the text, from 1

  const Schema& schema() const { return op != nullptr ? op->schema : movement->schema; }
};

struct Graph {
  Operator op;                      // its texts live as long as the program
  std::vector<GraphNode> nodes;     // each after those whose results it takes
  std::vector<GraphValue> results;  // one for each result of the schema
  std::string_view text;            // as it was given, and as case files keep it

  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
};

// The graph, which lives as long as the program. Texts that differ in spaces and comments alone give the same one. Operators must
// have been enrolled (operators.h). Throws GraphError.
const Graph& parse_graph(std::string_view text);

// Whether a schema goes on with a body: "assay::swiglu(...) -> Tensor { ... }".
bool is_graph(std::string_view schema);

// The same of a schema that is not known when the program is compiled. Throws GraphError.
Schema schema_of(std::string_view text);

}  // namespace assay

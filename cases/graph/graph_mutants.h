// Graphs that are wrong in ways in which people get a fused kernel wrong: what the self-test plants, and what a diagnosis looks for.
//
//   for (const GraphMutant& m : mutants_of(graph)) m.says;    // "leaves out h (relu, line 3)"
//
// A graph has the wrong formulas of its nodes, and some of its own: a node left out, another operator in its place, two arguments
// exchanged, a number from elsewhere, a constant changed, a rounding too much, something added twice, two nodes in the other
// order, an epsilon outside its root. Not all can be called as the right graph is: whoever reads one looks at its check.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph.h"

namespace assay {

struct GraphMutant {
  std::string name;  // "h.left_out"
  std::string says;
  std::unique_ptr<Graph> graph;
  DtypeSet dtypes = kFloatingPoint;
};

// The graph again, under its own name, for a mutant to change.
inline std::unique_ptr<Graph> copy_to_change(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  copy->op = graph.op;
  copy->op.graph = copy.get();
  copy->nodes = graph.nodes;
  copy->results = graph.results;
  copy->text = graph.text;
  return copy;
}

// Of a graph of many nodes fewer of each: some hundred at most.
std::vector<GraphMutant> mutants_of(const Graph& graph);

}  // namespace assay

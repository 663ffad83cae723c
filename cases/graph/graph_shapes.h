// What an operator says of shapes and values, worked out for a graph from what its nodes say.
//
//   rms_norm: x=[*,K] weight=[*,K]~ -> [*,K]          from mean over the last dimension and two products
//   residual: x=[N,K] weight=[M,K] y=[edge(0,0,0,0)] -> [edge(1,0,0,0)]   shapes that only computing the graph tells
//
// The rule is for making cases: a case that it allows goes through the nodes more often than not, and cases that it
// does not allow may, too. What a call's arguments must be is decided node by node (graph_check.h).
#pragma once

#include <deque>
#include <string>

#include "graph.h"

namespace assay {

// Fills in what the graph's text does not say: shapes, domains, dtypes, kinks, ranges and properties.
// The new texts become elements of `texts`. Throws GraphError for shapes that are no shape rule.
void derive(Graph& graph, std::deque<std::string>& texts);

// The shape rule alone: "x=[*,K] w=[K]~ -> [*,K]".
std::string derived_shapes(const Graph& graph);
// Operator::domains alone.
std::string derived_domains(const Graph& graph);

}  // namespace assay

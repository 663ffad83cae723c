// A graph as an operator that every command knows.
#pragma once

#include <string_view>

#include "graph.h"

namespace assay {

// Before anything runs. The same text gives the same operator. Throws GraphError: for what is no graph, for the name of another operator, and
// always in a program without references.
const Operator& enrol_graph(std::string_view text);

// The same without the wrong graphs, of which there are hundreds: for whoever has many graphs, and looks for a cause in few of them.
const Operator& enrol_graph_alone(std::string_view text);
// Its wrong graphs, unless they are known. Precondition: the operator is a graph that was enrolled.
void enrol_wrong_graphs(const Operator& op);

// Who makes references of graphs says so before main.
struct GraphsHaveReferences {
  GraphsHaveReferences(const Operator& (*enrol)(std::string_view), void (*enrol_wrong)(const Operator&));
};

}  // namespace assay

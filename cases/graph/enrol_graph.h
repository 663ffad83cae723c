// A graph as an operator that every command knows.
#pragma once

#include <string_view>

#include "graph.h"

namespace assay {

// Before anything runs. The same text gives the same operator. Throws GraphError: for what is no graph, for the name of another operator, and
// always in a program without references.
const Operator& enrol_graph(std::string_view text);

// Who makes references of graphs says so before main.
struct GraphsHaveReferences {
  explicit GraphsHaveReferences(const Operator& (*enrol)(std::string_view));
};

}  // namespace assay

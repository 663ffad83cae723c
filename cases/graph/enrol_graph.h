// A graph as an operator that every command knows.
#pragma once

#include <string_view>

#include "graph.h"

namespace assay {

// Before anything runs. The same text gives the same operator. Defined with the references, of which it makes one. Throws GraphError: for
// what is no graph, and for the name of another operator.
const Operator& enrol_graph(std::string_view text);

}  // namespace assay

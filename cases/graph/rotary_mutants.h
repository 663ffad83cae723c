// Rotary positions that are wrong in the ways in which people get them wrong: x * cos + cat([-second half, first half]) * sin.
#pragma once

#include <vector>

#include "graph_mutants.h"

namespace assay {

// Nothing of a graph that has none.
std::vector<GraphMutant> rotary_mutants_of(const Graph& graph);

}  // namespace assay

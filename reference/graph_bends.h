// Which numbers of a graph something bends: a function of them that is not a straight line, as far as they may be off.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace assay {

// For each node and each of its results: whether some other node, perhaps after movements, takes it for anything but sums with numbers
// that are known, or products with those. How far such a number may be off is then of importance for what comes after it.
std::vector<std::vector<bool>> bends_of(const Graph& graph);

}  // namespace assay

// The body of a graph's text: its statements, and what stands in them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "graph.h"

namespace assay {

// Means the same wherever it stands: "none", "f32".
bool is_literal_word(std::string_view word);

// Adds nodes and results to a graph whose schema is known. `body` is what comes after the brace that opens it, and lines[n] the number that its
// n-th line has in the text as it was given. Throws GraphError.
void parse_body(Graph& graph, std::string_view body, std::span<const std::size_t> lines);

}  // namespace assay

// Reading the text of a graph that is not to live as long as the program, as parse_graph() lets it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "graph.h"

namespace assay {

// A graph with the texts that it points to. shape_rule(), domain() and ranges() remember the texts of operators for ever, so they must not be
// asked about this one.
struct GraphAlone {
  std::string text{};
  std::deque<std::string> derived{};  // its schema, and what its operator says of shapes and values
  Graph graph{};
};

// Throws GraphError, as parse_graph() does, which looks at the text's domains, too.
std::unique_ptr<GraphAlone> read_graph(std::string_view text);

}  // namespace assay

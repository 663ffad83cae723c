// --graph, of every command that knows operators.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace assay {

// Graphs become operators as the command line is read, so that everything after it may name them. A wrong one is wrong usage.
void add_graphs(CLI::App& command);

// The operators that --graph has made, by name.
const std::vector<std::string>& given_graphs();

}  // namespace assay

// Graphs from a command line and from files: as text, or as JSON.
//
//   read_graphs("assay::swiglu(Tensor a, Tensor b) -> Tensor { silu(a) * b }")   // written out
//   read_graphs("fused.graph")                                                   // a file with some of them, one after the other
//   read_graphs("fused.json")
//
// JSON, for programs that make graphs:
//
//   {"format": "assay.graph/1",
//    "schema": "assay::swiglu(Tensor gate, Tensor up) -> Tensor",
//    "shapes": "gate=[*] up=[*] -> [*]",                           optional, as is "domains"
//    "nodes": [{"results": ["g"], "op": "silu", "arguments": {"self": "gate"}},
//              {"results": ["y"], "op": "mul.Tensor", "arguments": {"self": "g", "other": "up"}}],
//    "results": ["y"]}
//
// or {"format": "assay.graph/1", "graphs": [...]}. An argument is the name of an argument of the graph or of a result; else a number, true,
// false, null, a text ("tanh"), or a list of those.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/operator.h"

namespace assay {

// The texts of graphs (graph/graph.h). Throws GraphError and FileError, with the name of the file.
std::vector<std::string> read_graphs(const std::string& text_or_file);

// From and to JSON. Throws GraphError.
std::vector<std::string> graphs_of_json(std::string_view document);
std::string graph_json(const Graph& graph);

// Makes operators of them. Throws as read_graphs().
std::vector<const Operator*> enrol_graphs(const std::string& text_or_file);

// Processes that this one starts make operators of them as well, where they call take_passed_graphs().
void pass_graphs_on(const std::string& text_or_file);
void take_passed_graphs();

}  // namespace assay

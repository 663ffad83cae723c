// Which call, parameter or input of a recorded program a tensor of an engine's dump is, from the engine's own graph.
//
// A result is compared with every tensor of as many elements. For each pair speaks what is alike: the module that the exporter wrote
// down, the kinds of the operators, the numbers, the shapes, the place in the order, and that what they were computed from belongs
// together, too. The best pair is taken first. So a layer that is wrong is found by its module and its neighbours, and a right one whose
// names say nothing by its numbers. What a node was given is followed back to the engine's constants and inputs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../diff/match.h"
#include "../files/case_file.h"
#include "../tensors/tensor_file.h"
#include "engine_nodes.h"
#include "quantised.h"

namespace assay {

struct Matched {
  diff::NameMap names;          // of the trace -> of the dump: "conv/convolution", "conv/convolution:input", "conv.weight"
  std::set<std::string> edges;  // tensors of the dump that are the model's inputs
  std::map<std::string, QuantisedBy> quantised;  // tensors of the dump that were kept as integers
  std::size_t by_module = 0, by_numbers = 0, by_place = 0;  // of the results
};

Matched match_nodes(const CaseFile& trace, const TensorFile& dump, const EngineNodes& nodes);

// The same without the engine's graph, by the names that exporters give (named_nodes.h). What has a name of the trace, or stands in the
// map, is left alone.
Matched match_names(const CaseFile& trace, const TensorFile& dump, const diff::NameMap& map);

}  // namespace assay

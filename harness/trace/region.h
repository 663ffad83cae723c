// Calls between tensors that a dump has, put together as one operator (graph/graph.h).
//
// The dump has what the last of them gave, and not what those before it gave: an engine computed them in one kernel, or kept nothing of
// what lies between. As one graph they have one reference and one bound, whatever the engine stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../files/case_file.h"
#include "../model/call.h"
#include "folded.h"
#include "given_call.h"
#include "known.h"

namespace assay {

struct Region {
  std::vector<std::size_t> calls;   // by their places in the trace, in order
  std::vector<std::size_t> folded;  // batch norms among them that are folded into the convolution before them
  bool inherited = false;           // what it is given is not what PyTorch was given
  std::size_t epsilons = 0;         // numbers of this kind that its calls are given
  std::string text;                 // the graph
  Call call;                        // of the graph
  std::vector<std::vector<double>> within;   // of each of its arguments
  std::vector<std::string> nodes;            // of each node of the graph, what people call it
  std::map<std::string, std::string> names;  // of the graph's text -> what people call it
};

// Why calls are not put together: "Assay does not have logcumsumexp".
using NoRegion = std::string;

// Where a region takes what from. All must outlive it.
struct RegionSources {
  const CaseFile& trace;
  const GivenCalls& given;      // calls whose results the dump does not have, and the last one
  const KnownResults& results;  // of them
  const Foldings& foldings;
};

enum class Fold : std::uint8_t {
  where_seen,  // batch norms whose folded parameters the dump has
  wherever,    // all that can be
};

struct RegionStyle {
  Fold fold = Fold::where_seen;
  bool one_epsilon = false;  // equal ones are one argument of the graph
};

// What gives these outputs of a call.
std::variant<Region, NoRegion> region_of(const RegionSources& from, std::size_t last,
                                         const std::vector<std::pair<std::string, Shape>>& outputs,
                                         const RegionStyle& style);

}  // namespace assay

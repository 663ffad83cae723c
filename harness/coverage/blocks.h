// What instrumented code a worker's program has loaded, as JSON: how the harness learns what the numbers of blocks mean.
//
//   {"format": "assay.blocks/1", "modules": [{"path", "by_calls", "blocks": [address, ...], "entries": [position, ...]}]}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime.h"

namespace assay {

std::string description(const std::vector<CoveredModule>& modules);

// Throws std::runtime_error if the text is not such a description.
std::vector<CoveredModule> parse_blocks(std::string_view json);

}  // namespace assay

// Calls of recurrent layers (graph/recurrent.h) with the engine's numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../model/call.h"
#include "known.h"

namespace assay {

// What the steps were given is what the engine gave for the steps before. `within`: of each argument.
void take_states(Call& engines, const KnownResult& own, std::vector<std::vector<double>>& within);

// What a kernel gets wrong that has the engine's parameters where PyTorch has its own: their gates in another order, a bias left out. Nothing
// if no known mistake makes the one of the other to the bit.
std::optional<std::string> parameters_as(const Call& torchs, const Call& engines);

}  // namespace assay

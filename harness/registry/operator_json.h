// What an operator is, as `assay ops --json` has it, without its kernels.
//
//   {"op", "schema", "formula", "shapes", "domains", "dtypes": [..], "arguments": [..], "results": [..], "source", "reference", "oracle"}
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "vocabulary/operator.h"

namespace assay {

nlohmann::ordered_json operator_json(const Operator& op);

// Those that the operator takes, in the order of Dtype.
std::vector<Dtype> dtypes_of(const Operator& op);

}  // namespace assay

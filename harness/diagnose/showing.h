// What this data cannot show, other data can.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "../judge/expectation.h"
#include "suspects.h"

namespace assay::diagnose {

struct Showing {
  std::string case_text;   // empty: none of the cases that were tried shows any
  std::size_t causes = 0;  // how many of those asked for it shows
};

// Of the first generated cases with results of this dtype, the one on which most of the named suspects give another result than the
// reference allows under the contract.
Showing showing(const Operator& op, Dtype dtype, const Contract& contract,
                const std::vector<Variant>& suspects, const std::vector<std::string>& names);

}  // namespace assay::diagnose

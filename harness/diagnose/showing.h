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

// Of the first generated cases with the dtypes of this call, the one on which most of the named suspects give another result than the
// reference allows under the contract.
Showing showing(const Call& like, const Contract& contract, const std::vector<Variant>& suspects,
                const std::vector<std::string>& names);

// Whether a generated case has the dtypes of a call's tensors: cases are generated for those of results, which are bool or i64 of many
// operators whatever they are given.
bool has_dtypes_of(const Case& c, const Call& call);

}  // namespace assay::diagnose

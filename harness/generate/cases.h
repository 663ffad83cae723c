// Cases of an operator, made from its schema, shape rule and domains alone.
#pragma once

#include <cstdint>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

// The dtype of cases that are like a call whose first result has this one: of truth values the call computes in another.
inline Dtype dtype_of_cases(const Operator& op, Dtype result) {
  return op.dtypes.contains(result) ? result : Dtype::f32;
}

// Case `index` for results of this dtype: a pure function of its arguments, whatever was generated before and on
// however many threads. The first ladder_length(op) cases are fixed, simple ones (a scalar tensor, empty ones, one row,
// sizes at vector widths); random ones follow. Every case passes the argument check.
// Throws std::invalid_argument if the operator has no such dtype, or its shape rule says nothing of a tensor argument.
Case generate(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t index);

std::uint64_t ladder_length(const Operator& op);

// Cases of a run of the usual length, for each operator and dtype.
inline constexpr std::uint64_t kUsualRun = 250;

// Whether the index-th case has enough work for several threads: of each hundred the first one, from the last of the hundred before on,
// that is neither a layer nor planned, since a run has many of those once.
bool is_to_be_split(const Operator& op, std::uint64_t index);

// Those of such a run that are no covering cases (covering.h): covering arrays bring together what these do not. Their data's seed is
// not set.
std::vector<Case> cases_beside_covering(const Operator& op, Dtype result_dtype, std::uint64_t seed);

}  // namespace assay

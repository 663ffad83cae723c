// Cases for programs that call their kernels themselves: what they are called, and the call that one of them means.
//
//   {"do": "cases", "op": "relu", "dtype": "f32", "count": 50, "seed": 7}   -> {"cases": ["relu:f32:self=[]:data=ones:seed=7", ..]}
//   {"do": "call", "case": "relu:f32:self=3:data=normal:seed=1"}            -> {"op": "relu", "schema": "..", "arguments": [V, ..]}
//
// V is as in request.h; of a tensor, `strides` and `offset` say where its elements lie in the memory that comes with the answer, gaps between
// them included.
#pragma once

#include "answers.h"

namespace assay::serve {

// Those of `assay verify --cases COUNT --seed SEED` for results of this dtype. Throws RequestError.
Reply cases_of(const Request& request);

// Throws RequestError for a text that is no case, or one of arguments that are not allowed.
Reply call_of_case(const Request& request);

}  // namespace assay::serve

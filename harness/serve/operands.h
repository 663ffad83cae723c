// The call that a request speaks of: its operator, with the tensors that came in memory.
#pragma once

#include <string>
#include <vector>

#include "../judge/judge.h"
#include "../model/call.h"
#include "request.h"
#include "shared_memory.h"

namespace assay::serve {

// The operator that is meant. A graph becomes one, and is kept for as long as the process lives: the same text is the same operator. Throws
// RequestError.
const Operator& operator_of(const Request& request);

struct Operands {
  Call call;
  std::string case_text;  // the call without its numbers
  ExpectedOutputs results;
  std::string
      misfit;  // what is wrong with the results before any number is looked at: another shape, dtype or count; or empty
};

// Throws RequestError: for arguments that the operator does not take, and for a call whose tensors, or whose judgement, would take more
// memory than this machine has. `intervals`: of so many elements of each result bounds will be asked for.
Operands operands_of(const Operator& op, const Request& request, std::uint64_t intervals,
                     const ReadMemory& read);

// The tensor, laid out as it was where its elements do not overlap, and packed where they do.
TensorData tensor_at(const TensorPlace& place, const ReadMemory& read);

}  // namespace assay::serve

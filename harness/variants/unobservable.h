// Variants that a right kernel may be: Operator::unobservable, parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/operator.h"

namespace assay {

struct Excuse {
  std::string variant;  // shell glob
  std::string_view reason;
  DtypeSet dtypes = kFloatingPoint | kIntegers;
};

// Throws std::logic_error, which names the operator and the clause, if the text is malformed.
std::vector<Excuse> excuses_of(const Operator& op);

// Why nobody can tell the variant of this name from a right kernel, in one line; empty if somebody can.
std::string_view unobservable(const Operator& op, std::string_view variant, Dtype dtype);

}  // namespace assay

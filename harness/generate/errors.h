// Calls that an operator does not allow: a kernel that checks its arguments has to refuse them.
#pragma once

#include <cstdint>
#include <string>

#include "vocabulary/case.h"

namespace assay {

struct InvalidCase {
  Case invalid;
  Case valid;            // the same case before exactly one thing was broken
  std::string argument;  // the argument to blame; check_arguments blames it too
  std::string value;   // what is wrong with it, as it stands in the message: a shape "2x3", a dtype, a number
  std::string broken;  // what was done, "another size", "a dtype that the operator does not take"
};

// So many cases of a run have one beside them whose arguments are wrong.
inline constexpr std::uint64_t kCasesForAnError = 8;

// Error case `index`: a pure function of its arguments. It is sure to be rejected by check_arguments, with an error that
// contains `argument` and `value`; where it is the data that is wrong, by the check of its call.
InvalidCase generate_error(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t index);

}  // namespace assay

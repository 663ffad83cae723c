// Where a bound does not decide: a call of the same operator whose results do.
#pragma once

#include <optional>
#include <string>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

struct Deciding {
  std::string case_text;
  double wide = 0;  // how many times what kernels err its bound is
  bool shows = false;  // results with the fault that was asked for are outside
};

// The first of some generated cases with the dtypes of this call that was tried and decides: a kernel that errs as kernels do is right
// there, and its bound is not so wide that it says little. With a `fault`, what has it is a fault there. Under the contract of strangers.
std::optional<Deciding> deciding(const Evidence& evidence, const Variant* fault);

}  // namespace assay::diagnose

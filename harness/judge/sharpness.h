// How sharp a bound is: the smallest error that it shows in any element, beside the errors of kernels that keep to the contract.
//
//   sharpness(call, 0, parse_contract("chain=partial(16) -- here", Dtype::f32)).seen   // 2.5e-4
#pragma once

#include <cstddef>

#include "../model/call.h"
#include "vocabulary/contract.h"

namespace assay {

struct Sharpness {
  std::size_t elements = 0;     // looked at, spread over the result
  std::size_t undecidable = 0;  // of these: of which any result would pass
  double seen = 0;  // an error of this size is outside the bound of every other element; 0 if there is none
  double errs =
      0;  // the largest error of kernels that round to nearest, in orders and fusions that the contract allows
  double attacked = 0;  // the same of ones whose every rounding is as wrong as it may be
};

// Of a result of floating-point numbers. Precondition: call.error is empty.
Sharpness sharpness(const Call& call, int output, const Contract& contract);

}  // namespace assay

// Convolutions by Winograd's algorithm, which errs more than a direct sum: told by errors that go up and down with its own.
#pragma once

#include <optional>
#include <string>

#include "evidence.h"

namespace assay::diagnose {

struct ByWinograd {
  std::string name;        // "algorithm.winograd_f4_in_f16"
  std::string says;        // "computes by Winograd's F(4x4, 3x3), with transformed inputs and weights in f16"
  double correlation = 0;  // of errors with those of such a kernel
};

// Of convolutions with windows of 3x3, stride 1 and no dilation: F(2x2, 3x3) and F(4x4, 3x3) in the formats that libraries have, of
// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016). Nothing where errors are too few, or unlike all of these.
std::optional<ByWinograd> winograd_of(Evidence& evidence);

}  // namespace assay::diagnose

// Elements of a result, from which is found out what a kernel used (inversion.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evidence.h"

namespace assay::diagnose {

inline constexpr std::size_t kMostEquations = 4096;  // about so many elements are looked at

// An element of the result that is inverted: what came there, and how far it may be from what is right.
struct Observed {
  std::int64_t at;
  double came;
  double right;
  double within;
  bool diverges;
};

struct Observations {
  std::vector<Observed> elements;
  std::size_t diverging = 0;  // of these
};

// Elements of one output from all of it, but for those that any number would be right for.
Observations observe(Evidence& evidence, int output);

}  // namespace assay::diagnose

// Where a bound says nothing: to which cause results are nearer than to the right ones.
//
// A sum of 4,096 terms by a kernel of which nothing is known may be off by thousands of times what kernels are off by. Factors
// rounded to tf32 move it by a tenth of that: no element diverges. But what a kernel gives that rounds its factors so is known
// exactly, and results that are hundreds of times nearer to that than to what is right were not computed from the numbers given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence.h"
#include "prediction.h"

namespace assay::diagnose {

struct Nearer {
  std::string name, says;
  double times = 0;                  // the median distance to the right results, over that to its own
  std::vector<std::string> as_near;  // names of others, to which they are as near
};

// The one that results are nearest to, if they are at least kFarNearer times as near, at most of the elements.
std::optional<Nearer> nearest(Evidence& evidence, const std::vector<Variant>& suspects,
                              const std::vector<Variant>& further);

inline constexpr double kFarNearer = 16;

}  // namespace assay::diagnose

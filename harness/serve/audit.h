// What a test's data and tolerance would let pass: every known fault of the operator is made on the test's own data, and compared as the
// test compares.
//
//   {"do": "audit", "op": "mm", "arguments": [V, ..], "relative": 0.01, "absolute": 0.01, "seconds": 30}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../judge/expectation.h"

namespace assay::serve {

struct PlantedFault {
  std::string name;  // "dim.last", "results.zero"
  std::string says;
};

struct Audit {
  std::uint64_t rejected = 0;          // the test would see them
  std::vector<PlantedFault> let_pass;  // wrong by the bound, and within the tolerance
  std::vector<PlantedFault>
      invisible;  // the results are the right ones, to the bit: this data cannot show them
  std::vector<PlantedFault> within_bounds;  // a conforming kernel may give these results, too
  std::uint64_t not_tried = 0;              // for want of time
};

// |actual - right| <= absolute + relative |right| for each element, NaN equal to NaN, as numpy.testing.assert_allclose has it. Besides the faults that
// `assay selftest` plants: zeros, the mean of the right result everywhere, and the first tensor returned. Precondition: the call is allowed.
Audit audit(Expectation& expectation, const Contract& contract, double relative, double absolute,
            double seconds);

}  // namespace assay::serve

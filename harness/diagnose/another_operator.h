// Results that are right, but of another operator than the one that was asked for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evidence.h"

namespace assay::diagnose {

struct AnotherOperator {
  std::string name;  // "results.of_mul.Tensor"
  std::string says;  // "gives the result of mul.Tensor(self, other)"
  struct Other {
    std::string name, says;
  };
  std::vector<Other> as_well;        // others of which that is true on this data
  bool of_all = false;               // every element was judged
  bool is_exact =
      true;  // all are inside its bound; or else so near to it, and so far from what was asked for, that it is another kernel's
};

// An operator that takes arguments of the same names, what it has more at its default, and whose right results these are, in all calls; or
// else a function that is none (known_functions.h).
// Nothing where they are few, or where its bound would admit nearly anything.
std::optional<AnotherOperator> another_operator(std::span<Evidence* const> calls);

}  // namespace assay::diagnose

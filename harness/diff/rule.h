// The smallest rule that says which elements of a tensor are in a set: "dimension 1 is not 0 and a < 0", "dimension 2 modulo 16
// is 13 or more". What is wrong with a kernel often shows in where it is wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compare.h"
#include "vocabulary/shape_rule.h"

namespace assay::diff {

// Numbers that a rule may speak of: the tensor itself, or an input of its operator with as many elements.
struct Values {
  std::string name;
  std::function<double(std::uint64_t element)> at;
};

struct Rule {
  std::string text;
  double precision = 0;  // of the elements that it names, the share that is in the set
  double recall = 0;     // of the elements in the set, the share that it names
  int conditions = 0;    // 0: every element
};

// The rule of at most two conditions for which precision and recall are best together; of two that are nearly as good the
// shorter one. Of a large tensor rules are looked for in a sample, and then counted on all of it. Nothing if the set is empty, or if no
// rule is better than chance would be: then it is scattered.
std::optional<Rule> smallest_rule(const Shape& shape, const Mask& set, const std::vector<Values>& values);

}  // namespace assay::diff

// The argument check of an operator, from its schema, dtypes, shape rule and domains.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain.h"
#include "operator.h"
#include "shape_rule.h"

namespace assay {

struct Checked {
  struct Output {
    Dtype dtype;
    Shape shape;
    Dtype computed_in = dtype;  // differs for positions: the dtype of the numbers among which they are
  };
  enum class Fault : std::uint8_t { none, arguments, dtype, shape, attribute };

  std::vector<Output> outputs;  // empty if there is an error
  Fault fault = Fault::none;    // what kind of thing is wrong
  std::string error;            // "prelu: weight has shape 5, but ..."; empty if the arguments are allowed
  std::string argument;         // the name of the argument to blame
  bool ok() const { return error.empty(); }
};

Checked check_arguments(const Operator& op, std::span<const assay_value> arguments);

// The tensor arguments whose shape the shape rule computes from the others, with the shapes that they must have; none if
// something is wrong with the others.
std::vector<std::pair<int, Shape>> computed_shapes(const Operator& op,
                                                   std::span<const assay_value> arguments);

}  // namespace assay

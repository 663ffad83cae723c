// Which values the arguments of an operator take: Operator::domains and Operator::ranges, parsed.
#pragma once

#include <string_view>
#include <vector>

#include "operator.h"

namespace assay {

// "dim: axis(self); alpha: real", parsed; see Operator::domains.
struct Domain {
  enum class Kind : std::uint8_t {
    any,
    axis,
    axes,
    real,
    epsilon,
    fraction,
    natural,
    divisor,
    mask,
    given,
    one_of,
    window,
    positives,
    naturals,
    dtype,
    dtype_of,
    boolean,
    index,
    integer,
    format,
    dtypes,
    scale,
    zero_point,
    scales,  // of a tensor: positive normal numbers
    zero_points
  };
  Kind kind = Kind::any;
  int of = -1;                              // the argument in brackets
  bool filled = false;                      // of axes: dimensions have elements; of integers: not 0
  std::vector<std::string_view> choices{};  // of one_of, dtypes; of a mask: arguments
  int unless = -1;                          // the argument without which this one may not be None
  bool for_integers = false;                // not None where the result is of integers
  bool plane = false;                       // of an index: into planes of the tensor, not of its rows
  std::vector<Dtype> own{};  // of a tensor: its dtypes, the usual one first; empty: the dtype rule's

  // A number for each dimension of an image, or one for all.
  bool is_spatial() const {
    return kind == Kind::window || kind == Kind::positives || kind == Kind::naturals;
  }
  // Of an index: how many there are to name, of a tensor of this shape.
  std::int64_t choices_of(std::span<const std::int64_t> shape) const {
    if (plane) return shape.size() < 2 ? 0 : shape[shape.size() - 2] * shape[shape.size() - 1];
    return shape.empty() ? 0 : shape[0];
  }
  bool has_axes() const { return kind == Kind::axis || kind == Kind::axes; }
};
// Parsed once for each operator. Throws std::invalid_argument when one of the operator's is malformed.
const Domain& domain(const Operator& op, std::string_view argument);

// Operator::ranges of a tensor argument. Throws std::invalid_argument when they are malformed.
struct Range {
  double least = 0, greatest = 0;
};
const std::vector<Range>& ranges(const Operator& op, std::string_view argument);

}  // namespace assay

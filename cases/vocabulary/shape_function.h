// Functions of shape rules: dimensions of results that are computed from sizes and from other arguments.
//
//   reduced(run, axes, keepdim)  the run without the dimensions that the argument `axes` names, or with 1 in their place
//                                if the argument `keepdim` is true; axes is a list, an int or None (all)
//   convolved(run, window)       the run as seen through a window, of what a convolution sums over
//   transposed(run, window)      the run from which convolved() would give this one
//                                Both look at the arguments stride, padding, dilation and output_padding.
//   pooled(symbol, symbol)       the two sizes as seen through kernel_size, by stride, padding, dilation, ceil_mode
//   resized(symbol, symbol)      the two sizes, which are output_size, of planes that have elements
//   numel(run)                   one dimension: the number of elements of the run, 1 if it is empty
//   edge(node, result, first, last)   of a graph: the shape of a node's result, from one dimension to another, where e1 is the last one
//                                and e0 what comes after it
//
// A function whose arguments do not go together (a window larger than its input) says so, and blames one of them: the
// argument check reports it, and generation draws again. A further function is one more entry of the table in
// shape_function.cpp.
//
// Precondition: the check has found nothing wrong with any single argument.
#pragma once

#include <string>
#include <string_view>

#include "shape_rule.h"

namespace assay {

// The most that the check lets stride, padding, dilation, output_padding and kernel_size be: twice the product of two such
// numbers fits into 64 bits.
inline constexpr std::int64_t kMostSpatial = std::int64_t{1} << 31;

struct ShapeCall {
  const Operator& op;
  std::span<const assay_value> arguments;
  const ShapeBinding& binding;
  std::span<const std::string> operands;  // as written: "*", "dim", "keepdim"
  ResultShapes& result;                   // its error and argument, if the arguments do not go together
};

struct ShapeFunction {
  std::string_view name;
  std::size_t operands;
  Shape (*compute)(const ShapeCall& call);
};

// nullptr if there is none of this name.
const ShapeFunction* find_shape_function(std::string_view name);

}  // namespace assay

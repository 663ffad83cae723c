// The factors of a call: what a kernel may decide by, and what each of them is in one call.
//
// A fault that one value shows is found by any case that has it. Many need two: this window and that stride, K from 256 on and a
// transposed operand, beta = 0 and NaN. Covering cases (covering.h) bring pairs of values together, and count them by these names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

// A factor's name and its value: "size N" and "64-255", "window R" and "all 3", "layout weight" and "permuted", "stride" and
// "all 2", "data" and "nan".
using Factors = std::map<std::string, std::string>;

// Factors of the case:
// - "rule": which alternative of the shape rule;
// - "size S" of each symbol, and of the last dimension of each run, of size_classes(); "rank S" of each run; "window S";
// - "layout X" of each tensor, "none" if it is left out; "broadcast X" of each that may;
// - each other argument that shapes do not give, by its value's class;
// - "dtypes": whether the tensors' differ; "data".
// Empty if the shape rule does not allow the case.
Factors factors_of(const Case& c);

// Classes of sizes, smallest first: "0", "1", "2-8", "beside a vector" (16, 32 or 64 elements, one more or one less), "9-63",
// "64-255", "256-1023", "from 1024". What is beside a vector is of no other class.
struct SizeClass {
  std::string_view name;
  std::int64_t least, greatest;
};
const std::vector<SizeClass>& size_classes();
std::string_view size_class(std::int64_t size);

// How a tensor of this shape broadcasts to `full`: "as it is", "no dimensions", "fewer dimensions", "fewer dimensions and ones"; or which of
// its dimensions are ones: "the first", "the last", "one between", "several apart" (with others between them), "several".
std::string_view broadcast_class(const Shape& shape, const Shape& full);

// "contiguous", "offset" (contiguous, from an address at which vectors may not begin), "channels_last", "permuted", "with gaps" or
// "expanded".
std::string_view layout_class(const Layout& layout);

// The class of a value that is no tensor.
std::string value_class(const Case& c, std::size_t argument);

}  // namespace assay

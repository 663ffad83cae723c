// A case: one call of an operator, written as text. The text is its name, its filter and its reproduction:
// parse_case(text(c)) == c.
//
//   case   = operator ":" [dtype ":"] arg {"," arg} {":" key "=" value}     keys: data, seed
//   arg    = name "=" (tensor | scalar | "[" scalar {"," scalar} "]" | "none")
//   tensor = [dtype] "[" dims "]" ["@" layout] | dims      dims = int {"x" int}, empty for a scalar tensor
//   layout = contiguous | channels_last | permuted(ints) | step2 | offset(int) | expanded(ints) | strides(ints)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "layout.h"
#include "operator.h"

namespace assay {

struct TensorSpec {
  Dtype dtype = Dtype::f32;
  Shape shape;
  Layout layout;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

struct None {
  friend bool operator==(None, None) = default;
};

// A Scalar argument keeps whether it was written as an integer.
using CaseValue = std::variant<None, TensorSpec, std::int64_t, double, bool, std::string, Dtype, MemoryFormat,
                               std::vector<std::int64_t>, std::vector<double>, std::vector<TensorSpec>>;

struct Case {
  const Operator* op = nullptr;
  std::vector<CaseValue> arguments;  // one for each schema argument, defaults filled in
  std::string data = "normal";       // the data family, see harness/generate/data.h
  std::uint64_t seed = 0;
  // Whether both are one call: a NaN equals a NaN, and -0 is not 0.
  friend bool operator==(const Case& a, const Case& b);
};

// Throws CaseError that names the field and the text that is wrong; an unknown operator names the nearest one.
Case parse_case(std::string_view text);
// What the text names its operator by: "relu" of "relu:f32:self=2", "aten::relu" of "aten::relu:f32:self=2".
std::string_view operator_in(std::string_view text);
// Canonical: arguments equal to the schema's default are left out.
std::string text(const Case& c);
// One value as the text of a case or of a graph has it: "1", "[1,2]", "none". Throws CaseError. Not of tensors.
CaseValue parse_argument(std::string_view text, const Argument& argument);
// The value of an argument that a call leaves out. Precondition: it has a default.
CaseValue default_value(const Argument& argument);
// One value as it stands in the text.
std::string text(const CaseValue& value);

}  // namespace assay

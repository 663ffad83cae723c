// Operators by name. They enter with their references (EnrolledReference), or directly in tests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operator.h"

namespace assay {

void enrol_operator(const Operator& op);

// Sorted by name.
std::span<const Operator* const> operators();

// nullptr if there is none. `name` is as in the schema: "add.Tensor".
const Operator* find_operator(std::string_view name);

// As people write names: "add.Tensor", "aten::add.Tensor", and, of operators of which one alone has that base, "add" and "aten::add".
// nullptr if none or several are meant.
const Operator* find_spelled(std::string_view name);
// Throws CaseError that says the nearest name, if any is near, or those that may be meant.
const Operator& operator_named(std::string_view name);
// All that may be written for an operator of this name: "add.Tensor", "add", "aten::add.Tensor", "aten::add". Without a namespace,
// if there is no such operator.
std::vector<std::string> spellings(std::string_view name);
// Whether "aten", or what else stands before the "::" of an operator.
bool is_namespace(std::string_view word);

// The known operator whose name is nearest by edit distance; empty if none is near enough to have been meant.
std::string_view nearest_operator(std::string_view name);
// What others call an operator by another name: "convolution" of "conv2d" and "Conv", "mm" and "bmm" of "MatMul"; of torch.nn, of
// torch.nn.functional and of ONNX. Those that there are.
std::vector<std::string_view> known_elsewhere_as(std::string_view name);
// "there is no operator "rellu"; did you mean "relu"?"
std::string no_operator(std::string_view name);
// What a message that there is no operator of this name ends with: "; did you mean "relu"?", or " (`assay ops` lists them)".
std::string nearest_operator_hint(std::string_view name);
// Whether it may have been meant by who wrote `written`.
bool is_near(std::string_view written, std::string_view name);
// Levenshtein's, without regard to case.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace assay

// Operators by name. They enter with their references (EnrolledReference), or directly in tests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "operator.h"

namespace assay {

void enrol_operator(const Operator& op);

// Sorted by name.
std::span<const Operator* const> operators();

// nullptr if there is none.
const Operator* find_operator(std::string_view name);

// Throws CaseError that says the nearest name, if any is near, if there is none.
const Operator& operator_named(std::string_view name);

// The known operator whose name is nearest by edit distance; empty if none is near enough to have been meant.
std::string_view nearest_operator(std::string_view name);
// What a message that there is no operator of this name ends with: "; the nearest name is "relu"", or nothing.
std::string nearest_operator_hint(std::string_view name);
// Whether it may have been meant by who wrote `written`.
bool is_near(std::string_view written, std::string_view name);
// Levenshtein's, without regard to case.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace assay

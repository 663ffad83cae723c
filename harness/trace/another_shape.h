// Results of the dump in another shape than the operator's.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "../model/call.h"

namespace assay {

// Whether the same numbers in the same order have both shapes for a reason that is no fault: dimensions of one element that are left
// out, or leading ones that are joined, as of a linear module's result and that of its operator.
bool is_another_view(const Shape& a, const Shape& b);
// The same, or neighbouring dimensions are joined: batches and heads, as engines have them.
bool is_joined_or_divided(const Shape& a, const Shape& b);

// `t` with its dimensions in the one order that gives it this shape; nothing if there is none, or if there are several with other numbers.
std::optional<TensorData> rearranged_to(const Shape& shape, const TensorData& t);

// What `t` was before its dimensions were put into another order, and that order, if it is nearly `right` then: images with their
// channels last.
struct Rearranged {
  TensorData before;
  std::vector<std::size_t> order;
};
std::optional<Rearranged> rearranged_from(const TensorData& right, const TensorData& t);

}  // namespace assay

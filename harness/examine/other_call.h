// Calls that a kernel is to be given between others: with other data, and of another shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../model/call.h"
#include "vocabulary/case.h"

namespace assay {

// The same call with its numbers in reverse order, and halved where they are no integers: values that the operator allows, as the
// call's own are. The first and the last number of an even number of them stay. Nothing if it does not allow them, or if they are the same.
std::optional<Call> with_other_data(const Call& call);

// The case with other sizes, smaller or a little larger. Nothing if there are none that are allowed and small.
struct MadeCall {
  std::string text;  // of its case
  Call call;
};
std::optional<MadeCall> of_another_shape(const Case& c);

// With sizes of at most so many elements. Nothing if that is not allowed.
std::optional<MadeCall> of_small_shape(const Case& c, std::int64_t most);

// Of its tensors.
std::size_t bytes_of(const Call& call);

}  // namespace assay

// From a value of a request to the argument of a schema.
#pragma once

#include <optional>
#include <vector>

#include "../model/call.h"
#include "request.h"
#include "shared_memory.h"

namespace assay::serve {

// What an argument has that is left out.
CallValue default_of(const Argument& argument);

// The dtype of a number in the place of a tensor, as torch has it for a number of a program: it yields to every tensor. Nothing for
// operators whose tensors are of one dtype.
std::optional<Dtype> dtype_of_numbers(const Operator& op, const std::vector<const RequestValue*>& values);

// The argument without the memory of its tensors, whose places are added to `places`; a tensor without a place is a number, and has its
// memory. A tensor in the place of a number is read. Throws RequestError.
CallValue argument_of(const Operator& op, const Argument& argument, const RequestValue& value,
                      std::optional<Dtype> of_numbers, std::vector<const TensorPlace*>& places,
                      const ReadMemory& read);

}  // namespace assay::serve

// The same values in memory with room after each row.
#pragma once

#include <optional>

#include "../model/call.h"

namespace assay {

// The call with inputs of two dimensions or more in rows of whole, wider cache lines, as libraries pad them, and contiguous results.
// What lies after a row is not the kernel's to read. Nothing where no input has rows, or the operator does not allow it.
std::optional<Call> with_padded_rows(const Call& call);

}  // namespace assay

// What calls give that only move numbers, and that Assay has no operator for: joined tensors, and converted ones.
#pragma once

#include <optional>

#include "given_call.h"
#include "known.h"

namespace assay {

// Its only result, without what it follows from. Nothing if the call is no movement, or cannot be made.
std::optional<KnownResult> moved_by(const GivenCall& call);

}  // namespace assay

// Whether a cause that was found with some calls explains another one.
#pragma once

#include <optional>
#include <string>

#include "evidence.h"

namespace assay::diagnose {

// `cause` is the name of a known fault of the operator, or of several, "self.last_lost + results.through_bf16". It explains a call if
// every element is as it says. Nothing where it is no known one: what was read off a result is not foretold of others.
std::optional<bool> explains(const std::string& cause, Evidence& evidence);

}  // namespace assay::diagnose

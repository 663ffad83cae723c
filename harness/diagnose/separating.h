// Where several causes explain what is wrong as well: a call of the same operator that tells them apart.
#pragma once

#include <optional>
#include <string>

#include "causes.h"
#include "evidence.h"

namespace assay::diagnose {

// The first generated case on which the first cause differs from all the others that fit as well: from the first kMostSeparated of them.
// Nothing if none of those that are tried does.
std::optional<std::string> separating(const Causes& causes, const Evidence& evidence);

}  // namespace assay::diagnose

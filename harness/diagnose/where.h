// Where results diverge.
#pragma once

#include <string>

#include "diagnosis.h"

namespace assay::diagnose {

// "out[0,3] is 1.5, but must be [1.25, 1.2500001]"
std::string place(const Evidence& evidence, const Element& e);
// Which elements of an output diverge, with the rule that says so, pictures, and what the result is of the right one rearranged.
Where where(Evidence& evidence, int output);

// Whether it diverges in a small part, of which coordinates say where it is. An approximation is one everywhere.
bool is_somewhere(Evidence& evidence);

}  // namespace assay::diagnose

// Int arguments that only repeat a size which the tensors of a call have, so that a graph may leave them out.
#pragma once

#include <cstddef>

#include "operator.h"

namespace assay {

// N, C and HxW of native_group_norm; not `groups`, of which sizes are multiples. match_shapes() takes calls without them.
bool is_size_of_tensors(const Operator& op, std::size_t argument);

}  // namespace assay

// The reading of shape rules. Others ask shape_rule(), which reads the rule of an operator once.
#pragma once

#include "shape_rule.h"

namespace assay {

// Throws as shape_rule() does.
ShapeRule parse_shape_rule(const Operator& op);

}  // namespace assay

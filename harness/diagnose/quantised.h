// Tensors that a kernel keeps in few bits: integers or small floats that scales belong to, as those that engines quantise weights to.
//
//   weight.as_int8_by_first_dimension   the nearest of 255 multiples of a scale, one for each row
//   weight.as_f8e4m3                    the nearest number of the format, without a scale
//   weight.as_q4_0                      as ggml keeps it
#pragma once

#include <cstddef>
#include <vector>

#include "../variants/variant.h"

namespace assay::diagnose {

// Of one tensor argument. Of f32 and f64: narrower ones are weights in few bits already.
void add_quantised(const Operator& op, std::size_t argument, std::vector<Variant>& all);

}  // namespace assay::diagnose

// Copies, in any layout of memory.
#pragma once

#include "../vocabulary/operator.h"

namespace assay::ops {

// Which strides the result gets is the caller's business: Assay allocates it, half of the time as ATen would for the
// memory format and else in any layout, and checks every element and that nothing else is written.
inline constexpr Operator clone{
    .schema = parse_schema("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"),
    .formula = "self, element by element, laid out as memory_format says",
    .dtypes = kFloatingPoint | kIntegers,
    .in_integers = true,
    .shapes = "self=[*] -> [*]",
    .domains = "memory_format: format(self)",
    .properties = kElementwise | kIdempotent,
    .source = "torch.clone",
};

}  // namespace assay::ops

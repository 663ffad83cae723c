// Whether bytes are a tensor whose rows lie farther apart than they are long, or that stands after a header.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "compare.h"
#include "vocabulary/shape_rule.h"

namespace assay::diff {

// "its rows are 64 elements apart, not 60", "its numbers begin at byte 40", "after its numbers, 64 more bytes follow", if the numbers of `right` stand there: all that the bytes
// reach, but for 16 ulp and one in a thousand, more than a row of them, and at least half. Not if nearly all of `right` is one number, or
// it is where it should be. Headers of up to 4096 bytes are looked for, and whatever the bytes have more than the tensor, up to 1 MiB.
std::optional<std::string> pitched(const Elements& right, const Shape& shape,
                                   std::span<const std::byte> bytes, Dtype dtype);

}  // namespace assay::diff

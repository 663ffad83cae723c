// Dtypes that have negative numbers, without which some wrong formulas are right.
#pragma once

#include "vocabulary/dtype.h"

namespace assay {

inline constexpr DtypeSet kSigned =
    kFloatingPoint | only(Dtype::i64) | only(Dtype::i32) | only(Dtype::i16) | only(Dtype::i8);

}  // namespace assay

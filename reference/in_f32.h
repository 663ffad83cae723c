// For wrong formulas that go wrong because a kernel computes in f32: intermediate numbers that are too large for it are infinite, those
// that are too small are 0, and what is added to 1 loses its last bits.
//
//   const S e = in_f32(exp(x));  // infinite from x = 88.73 on
//   return e / (S(1) + e);       // NaN there: a sigmoid that nobody guards
//
// Kernels for results of 16 bits compute in f32, too. Those in f64 do not, so that these formulas are for kComputedInF32.
#pragma once

#include "scalars/scalar.h"
#include "vocabulary/dtype.h"

namespace assay {

inline constexpr DtypeSet kComputedInF32 = only(Dtype::f32) | only(Dtype::bf16) | only(Dtype::f16);

template <class S>
S in_f32(const S& x) {
  return cast<S>(x, Dtype::f32);
}

}  // namespace assay

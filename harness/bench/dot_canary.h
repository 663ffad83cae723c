// The dot products of narrow numbers that x86 has beside fused multiply-adds, as limits of kernels on them: of pairs of bf16 into f32
// (vdpbf16ps), and of four u8 with four i8 into i32 (vpdpbusd). AMX's tiles are not among them.
#pragma once

#include <cstdint>

#include "dtype.h"

namespace assay {

// Whether this processor has such products of elements of that dtype.
bool has_dot_products(Dtype of);

// As many in registers, one after the other on all units, as multiply_add_f32() has of its own (canary.h). Returns how many operations
// that were, a product and its addition being two. Precondition: has_dot_products(), and of bf16 or u8 (i8 is the same).
double dot_products(Dtype of, std::int64_t repeats);

}  // namespace assay

// d += a b of one mma.m16n8k16, as tensor cores compute it.
//
// PTX leaves open how a tensor core rounds. The model does what GPUs since sm_80 were measured to do at the least (Fasi,
// Higham, Mikaitis and Pranesh 2021): products are exact, all addends of one instruction are cut off below the 25th bit of
// the largest, their sum is exact and is cut off to f32. So code that relies on rounding to nearest there shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda.h"

namespace assay::cuda::emulation {

// The matrices, from the registers of all lanes. Words hold two elements along k, the first one in the lower half.
struct alignas(32) TensorOperands {
  std::uint32_t a[16][8];  // rows
  std::uint32_t b[8][8];   // the pair of k, then the column
  float d[16][8];

  // What a lane has in registers, and where (PTX ISA, fragments of m16n8k16).
  ASSAY_EMULATION std::uint32_t& a_of(std::size_t lane, std::size_t r) {
    return a[lane / 4 + r % 2 * 8][lane % 4 + r / 2 * 4];
  }
  ASSAY_EMULATION std::uint32_t& b_of(std::size_t lane, std::size_t r) {
    return b[lane % 4 + r * 4][lane / 4];
  }
  ASSAY_EMULATION float& d_of(std::size_t lane, std::size_t r) {
    return d[lane / 4 + r / 2 * 8][lane % 4 * 2 + r % 2];
  }
};

// Of __half or __nv_bfloat16.
template <class T>
void tensor_product(TensorOperands& of);

// The same, element by element as it is written above: what the other one does where it has nothing faster.
template <class T>
void tensor_product_by_terms(TensorOperands& of);

// c + the sum of products, as above.
float cut_off_sum(const double (&terms)[17]);

}  // namespace assay::cuda::emulation

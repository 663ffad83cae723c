// Models of the tensor cores and of the instructions that feed them, with the layouts of registers of the PTX ISA.
//
// A copy is queued: until it is waited for its destination is poison, and the source is read as late as can be, so that a
// missing wait, and a source that changes before it, show.
#pragma once

#include <algorithm>
#include <cstring>

#include "cuda.h"
#include "tensor.h"

namespace assay::cuda::emulation {

struct MatrixRows {
  unsigned* result;
  const void* row;
  bool transposed;
};

ASSAY_EMULATION inline void load_matrices(unsigned (&r)[4], const void* row, bool transposed,
                                          Location where) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) fail("ldmatrix: a row begins at no multiple of 16");
  checker_access(row, 16, false, false, __builtin_return_address(0));
  MatrixRows slot{r, row, transposed};
  wait_for_warp(
      transposed ? "ldmatrix.trans" : "ldmatrix", ~0u, &slot,
      [](void* const* slots, unsigned) ASSAY_EMULATION {
        for (std::size_t lane = 0; lane < 32; ++lane) {
          const auto& mine = *static_cast<MatrixRows*>(slots[lane]);
          for (std::size_t j = 0; j < 4; ++j)
            for (std::size_t h = 0; h < 2; ++h) {
              std::size_t i = lane / 4, k = lane % 4 * 2 + h;
              if (mine.transposed) std::swap(i, k);
              const void* const from = static_cast<MatrixRows*>(slots[j * 8 + i])->row;
              std::memcpy(reinterpret_cast<char*>(&mine.result[j]) + 2 * h,
                          static_cast<const char*>(from) + 2 * k, 2);
            }
        }
      },
      where);
}

struct Product {
  float* d;
  const unsigned* a;
  unsigned b[2];
};

template <class T>
ASSAY_EMULATION void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                  Location where) {
  Product slot{d, a, {b0, b1}};
  wait_for_warp(
      "mma.m16n8k16", ~0u, &slot,
      [](void* const* slots, unsigned) ASSAY_EMULATION {
        TensorOperands operands;
        for (std::size_t lane = 0; lane < 32; ++lane) {
          const Product& mine = *static_cast<Product*>(slots[lane]);
          for (std::size_t r = 0; r < 4; ++r) operands.a_of(lane, r) = mine.a[r];
          for (std::size_t r = 0; r < 2; ++r) operands.b_of(lane, r) = mine.b[r];
          for (std::size_t r = 0; r < 4; ++r) operands.d_of(lane, r) = mine.d[r];
        }
        tensor_product<T>(operands);
        for (std::size_t lane = 0; lane < 32; ++lane)
          for (std::size_t r = 0; r < 4; ++r)
            static_cast<Product*>(slots[lane])->d[r] = operands.d_of(lane, r);
      },
      where);
}

void copy_async(void* shared, const void* global, int bytes, const void* caller);
void end_copies();
void wait_for_copies(int groups);

}  // namespace assay::cuda::emulation

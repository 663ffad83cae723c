// Clauses of these kernels' contracts that many share. A contract joins them with "\n".
#pragma once

#define ASSAY_CUDA_IN_PLACE \
  "in_place=yes -- optimized/cuda/elementwise.h: an element is read before it is written, by the same thread"

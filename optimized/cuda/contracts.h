// Clauses of these kernels' contracts that many share. A contract joins them with "\n".
//
// What CUDA's elementary functions promise: the largest difference from the correctly rounded result that the CUDA C++
// Programming Guide lists (appendix "Mathematical Functions", standard functions; of its editions the larger number),
// and half a unit for that rounding. In the emulation they are the C library's, which promise no less (glibc manual, "Known
// Maximum Errors in Math Functions").
#pragma once

#define ASSAY_CUDA_IN_PLACE \
  "in_place=yes -- optimized/cuda/elementwise.h: an element is read before it is written, by the same thread"

// The kernel for a sum, and so its order, is chosen by where its elements lie.
#define ASSAY_CUDA_BY_LAYOUT                                                                                          \
  "layout_invariant=no row_invariant=no -- optimized/cuda/reduce.h: how threads share a sum depends on strides, and " \
  "on how many sums there are"

#define ASSAY_CUDA_ROWS                                                                                             \
  "layout_invariant=no row_invariant=no -- optimized/cuda/rows.h: how threads share a row depends on strides, and " \
  "a row among others has other strides than one alone"

#define ASSAY_CUDA_SUM_OF_ROW "chain=blocked(8) -- optimized/cuda/rows.h: a thread's elements, then a tree of threads"

#define ASSAY_CUDA_MOMENTS \
  "moments=updating chain=blocked(8) -- optimized/cuda/moments.h: Welford's update and merges, in reduce.h's order"

// A thread adds at most an eighth of a sum's terms, or eight.
#define ASSAY_CUDA_SUM "chain=blocked(8) -- optimized/cuda/reduce.h: eight sums or more, then a tree"

#define ASSAY_CUDA_ACCURACY(f32, f64)                                          \
  "f32,f16,bf16: " f32                                                         \
  " -- CUDA C++ Programming Guide, Mathematical Functions, single precision\n" \
  "f64: " f64 " -- CUDA C++ Programming Guide, Mathematical Functions, double precision"

#define ASSAY_CUDA_EXP ASSAY_CUDA_ACCURACY("exp=2.5ulp", "exp=1.5ulp")
#define ASSAY_CUDA_EXPM1 ASSAY_CUDA_ACCURACY("expm1=1.5ulp", "expm1=1.5ulp")
#define ASSAY_CUDA_LOG ASSAY_CUDA_ACCURACY("log=1.5ulp", "log=1.5ulp")
#define ASSAY_CUDA_LOG1P ASSAY_CUDA_ACCURACY("log1p=2.5ulp", "log1p=1.5ulp")
#define ASSAY_CUDA_TANH ASSAY_CUDA_ACCURACY("tanh=2.5ulp", "tanh=2.5ulp")
#define ASSAY_CUDA_ERF ASSAY_CUDA_ACCURACY("erf=2.5ulp", "erf=2.5ulp")
#define ASSAY_CUDA_ACOS ASSAY_CUDA_ACCURACY("acos=3.5ulp", "acos=2.5ulp")
#define ASSAY_CUDA_ASIN ASSAY_CUDA_ACCURACY("asin=4.5ulp", "asin=2.5ulp")
#define ASSAY_CUDA_ATAN ASSAY_CUDA_ACCURACY("atan=2.5ulp", "atan=2.5ulp")
#define ASSAY_CUDA_EXP2 ASSAY_CUDA_ACCURACY("exp2=2.5ulp", "exp2=1.5ulp")
#define ASSAY_CUDA_LOG2 ASSAY_CUDA_ACCURACY("log2=3.5ulp", "log2=1.5ulp")
#define ASSAY_CUDA_POW ASSAY_CUDA_ACCURACY("pow=9.5ulp", "pow=2.5ulp")
#define ASSAY_CUDA_ATAN2 ASSAY_CUDA_ACCURACY("atan2=3.5ulp", "atan2=2.5ulp")

// Clauses of our kernels' contracts that many share. A contract joins them with "\n".
//
// What elementary functions promise stands here alone: test/cpu_elementary_test.cpp reads its bounds from these
// clauses and fails when a function is worse. Largest errors seen, in units in the last place: for f32 over a 61st of
// all numbers and those near where code changes, expm1 1.027, log 0.840, log1p 0.840, tanh 1.344, erf 1.238, acos
// 1.064, and over every one exp 0.982; for f64 over millions of samples exp 1.009, expm1 1.210, log 0.832, log1p 0.816,
// tanh 1.364, erf 1.439, acos 1.103. Of a sample of f32 and of f64: asin 1.303 and 1.306, exp2 0.977 and 1.065, sin 0.501 and 0.786, cos
// 0.501 and 0.777, atan 0.501 and 1.882, log2 0.501 and 1.690, pow 0.501 and 0.506, atan2 0.501 and 0.519. Estimates stand in the headers. ci/soak --functions looks at every f32.
#pragma once

#define ASSAY_CPU_IN_PLACE \
  "in_place=yes -- optimized/cpu/elementwise.h: an element is read before it is written"

#define ASSAY_CPU_CHAINS "chain=blocked(16) -- optimized/cpu/chains.h: sixteen chains or more, then a tree"

#define ASSAY_CPU_ACCURACY(f32, f64)                       \
  "f32,f16,bf16: " f32                                     \
  " -- optimized/test/cpu_elementary_test.cpp, measured\n" \
  "f64: " f64 " -- optimized/test/cpu_elementary_test.cpp, estimated and sampled"

#define ASSAY_CPU_EXP ASSAY_CPU_ACCURACY("exp=1ulp", "exp=1.1ulp")
#define ASSAY_CPU_EXPM1 ASSAY_CPU_ACCURACY("expm1=1.1ulp", "expm1=1.3ulp")
#define ASSAY_CPU_LOG ASSAY_CPU_ACCURACY("log=0.9ulp", "log=0.9ulp")
#define ASSAY_CPU_LOG1P ASSAY_CPU_ACCURACY("log1p=0.9ulp", "log1p=0.9ulp")
#define ASSAY_CPU_TANH ASSAY_CPU_ACCURACY("tanh=1.4ulp", "tanh=1.5ulp")
#define ASSAY_CPU_ERF ASSAY_CPU_ACCURACY("erf=1.3ulp", "erf=1.6ulp")
#define ASSAY_CPU_ACOS ASSAY_CPU_ACCURACY("acos=1.1ulp", "acos=1.2ulp")
#define ASSAY_CPU_SIN ASSAY_CPU_ACCURACY("sin=0.51ulp", "sin=1ulp")
#define ASSAY_CPU_COS ASSAY_CPU_ACCURACY("cos=0.51ulp", "cos=1ulp")
#define ASSAY_CPU_ASIN ASSAY_CPU_ACCURACY("asin=1.4ulp", "asin=1.5ulp")
#define ASSAY_CPU_ATAN ASSAY_CPU_ACCURACY("atan=0.51ulp", "atan=2.1ulp")
#define ASSAY_CPU_EXP2 ASSAY_CPU_ACCURACY("exp2=1.3ulp", "exp2=1.3ulp")
#define ASSAY_CPU_LOG2 ASSAY_CPU_ACCURACY("log2=0.51ulp", "log2=2.8ulp")
#define ASSAY_CPU_POW ASSAY_CPU_ACCURACY("pow=0.51ulp", "pow=1ulp")
#define ASSAY_CPU_ATAN2 ASSAY_CPU_ACCURACY("atan2=0.51ulp", "atan2=1ulp")

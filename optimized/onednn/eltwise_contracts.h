// What oneDNN's eltwise primitive promises, algorithm by algorithm. The code is that of
// src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, in f32, bf16 being converted; memory that is not dense goes
// to src/cpu/ref_eltwise.cpp, which calls the C library. Measured errors are the largest of every 37th float of
// f32, in oneDNN 2.6.3, at SSE4.1, which has no fused multiply-add, and at the wider levels.
//
// What no clause can say, and so shows as a peer that disagrees: log of subnormal numbers is off by up to 10,
// because their exponent is taken for that of a normal one; sigmoid and silu are 0 below -87, where exp is; the
// gradient of gelu by tanh is NaN for large arguments, 0 times infinity; where memory is not dense, the gradient of
// tanh is (1 - t)(1 + t), and hardswish divides subnormal numbers before it multiplies them.
#pragma once

#include "isa_level.h"

namespace assay::onednn {

#define ASSAY_INJECTOR " -- oneDNN src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp, "

inline constexpr std::string_view kEltwiseInPlace =
    "in_place=yes -- oneDNN API reference, Eltwise: src and dst can refer to the same memory";
inline constexpr std::string_view kEltwiseDispatch =
    "layout_invariant=no -- oneDNN src/cpu/ref_eltwise.cpp takes memory that is not dense, and calls the C library";

inline constexpr std::string_view kReluZeros =
    "signed_zero=ignore" ASSAY_INJECTOR
    "relu_zero_ns_compute_vector_fwd: max(s, 0); where memory is not dense src/common/math_utils.hpp, relu_fwd: "
    "s * 0";
inline constexpr std::string_view kReluNonfinite =
    "nonfinite=unspecified -- the same two functions: MAXPS(NaN, 0) is 0, and -inf * 0 is NaN";

// The error of exp was measured over every float from -104 to -2^-12: 5.72 ulp with fused multiply-adds, 67.81
// without, and 0 below 2^-125.5.
inline constexpr std::string_view kExpSse41 =
    "exp=68ulp ftz=yes tiny=1.67e-38 nonfinite=unspecified" ASSAY_INJECTOR
    "exp_compute_vector_fwd: x - n * ln2 without FMA rounds the product, 0 where 2^(n-1) is not normal, MINPS "
    "and MAXPS lose NaN; measured";
inline constexpr std::string_view kExp =
    "exp=6ulp ftz=yes tiny=1.67e-38 nonfinite=unspecified" ASSAY_INJECTOR
    "exp_compute_vector_fwd: a polynomial of degree 5, 0 where 2^(n-1) is not normal, MINPS and MAXPS lose NaN; "
    "measured";
// exp below 1 is off by these units of 2^-24.
inline constexpr std::string_view kExpm1Sse41 =
    "expm1=1ulp+4.1e-6abs signed_zero=ignore nonfinite=unspecified" ASSAY_INJECTOR
    "elu_compute_vector_fwd: exp(x) - 1, with that exp";
inline constexpr std::string_view kExpm1 =
    "expm1=1ulp+3.6e-7abs signed_zero=ignore nonfinite=unspecified" ASSAY_INJECTOR
    "elu_compute_vector_fwd: exp(x) - 1, with that exp";
inline constexpr std::string_view kLogSse41 =
    "log=1ulp+1.2e-5abs nonfinite=unspecified" ASSAY_INJECTOR
    "log_compute_vector_fwd: E * ln2 is rounded with the bias in E, so where it is up to 177, and again less a "
    "table's number; infinity and NaN are taken for numbers";
inline constexpr std::string_view kLog =
    "log=1ulp+3.9e-6abs nonfinite=unspecified" ASSAY_INJECTOR
    "log_compute_vector_fwd: E * ln2 less a table's number is rounded where it is up to 89; infinity and NaN are "
    "taken for numbers";
inline constexpr std::string_view kTanh =
    "tanh=2ulp nonfinite=unspecified" ASSAY_INJECTOR
    "tanh_compute_vector_fwd: 31 polynomials of degree 6, measured 1.21 ulp; NaN compares as too large and gives 1; "
    "where memory is not dense, tanhf (glibc manual, Errors in Math Functions: 2)";
inline constexpr std::string_view kErf =
    "erf=7e-7abs signed_zero=ignore nonfinite=unspecified" ASSAY_INJECTOR
    "gelu_erf_compute_vector_fwd: Abramowitz and Stegun 7.1.26, off by 1.5e-7, in f32; measured 6.7e-7";
inline constexpr std::string_view kHardswish =
    "div=1 signed_zero=ignore nonfinite=unspecified -- oneDNN src/common/math_utils.hpp, hardswish_fwd: "
    "s / 6 * min(max(s + 3, 0), 6), a rounding more; the injector's MINPS and MAXPS lose NaN";
inline constexpr std::string_view kClip =
    "signed_zero=ignore nonfinite=unspecified" ASSAY_INJECTOR
    "clip_compute_vector_fwd: MAXPS and MINPS give the bound for NaN and for a zero beside a zero";

// A contract of these clauses.
template <const std::string_view&... clauses>
struct EltwiseContract {
  static constexpr const char* plain = kJoined<clauses..., kEltwiseDispatch>;
  static constexpr const char* native_bf16 = kJoined<clauses..., kEltwiseDispatch, kFlushedStore>;
};

// What an operator promises at SSE4.1, at the wider levels, and there for bf16 where the CPU has it.
template <class AtSse41, class Wider = AtSse41>
struct EltwiseContracts {
  static constexpr const char* sse41 = AtSse41::plain;
  static constexpr const char* wider = Wider::plain;
  static constexpr const char* native_bf16 = Wider::native_bf16;
};
template <const std::string_view& clause>
using Eltwise = EltwiseContracts<EltwiseContract<kEltwiseInPlace, clause>>;
template <const std::string_view& sse41, const std::string_view& wider>
using EltwiseByLevel =
    EltwiseContracts<EltwiseContract<kEltwiseInPlace, sse41>, EltwiseContract<kEltwiseInPlace, wider>>;

using ExactContract = EltwiseContracts<EltwiseContract<kEltwiseInPlace>>;
using ReluContract = EltwiseContracts<EltwiseContract<kEltwiseInPlace, kReluZeros, kReluNonfinite>>;
using GeluContract = EltwiseContracts<EltwiseContract<kEltwiseInPlace, kExpSse41, kErf, kTanh>,
                                      EltwiseContract<kEltwiseInPlace, kExp, kErf, kTanh>>;

}  // namespace assay::onednn

#include "contracts.h"

#include <algorithm>
#include <array>

namespace assay::oracle {
namespace {

// Paths are below aten/src/ATen/ of PyTorch 1.13.1. What is not stated is strict, because the code cited nowhere does
// less; a kernel for which that is wrong shows up as a peer that disagrees.
struct Entry {
  std::string_view op;
  std::string_view clauses;
};

// BLAS fixes neither the order of a sum nor which kernel a shape gets. With AMX, the oneDNN that torch 1.13 uses dies
// of an illegal instruction for some shapes with an odd K (uxlfoundation/oneDNN issue 1661): no contract covers that.
constexpr std::string_view kProducts =
    "f64,f32: layout_invariant=no row_invariant=no thread_invariant=no -- "
    "native/CPUBlas.cpp gemm calls dgemm_ or sgemm_ of the installed BLAS; native/LinearAlgebra.cpp "
    "bmm_out_or_baddbmm_ has a loop of its own for small products\n"
    "bf16: compute=bf16 layout_invariant=no row_invariant=no thread_invariant=no -- native/CPUBlas.cpp gemm for "
    "BFloat16, up to 16^3 products or without AVX-512: native/cpu/BlasKernel.cpp gemm_notrans_ adds as bf16\n"
    "bf16: ftz=yes daz=yes -- native/mkldnn/Matmul.cpp mkldnn_bf16_gemm, above 16^3 products: oneDNN uses "
    "vdpbf16ps, which flushes subnormals (Intel 64 and IA-32 Software Developer's Manual, volume 2)";

#define ASSAY_TORCH_SUM                                                                                           \
  "f64,f32,bf16: layout_invariant=no row_invariant=no thread_invariant=no -- native/cpu/Loops.h vectorized_loop " \
  "calls fmadd for full vectors and native/ufunc/add.h add for the rest, which may round alpha * other\n"         \
  "bf16: compute=bf16 -- cpu/vec/vec256/vec256_bfloat16.h fmadd rounds once, "                                    \
  "native/ufunc/add.h add on c10::BFloat16 rounds alpha * other and the sum\n"                                    \
  "f16: compute=f16 -- native/ufunc/add.h add on c10::Half rounds alpha, alpha * other and the sum"
constexpr std::string_view kSum = ASSAY_TORCH_SUM;
constexpr std::string_view kDifference = ASSAY_TORCH_SUM
    "\nsigned_zero=ignore -- native/BinaryOps.cpp sub_out adds -alpha times other: -0 is 0 for an integer alpha";

constexpr std::string_view kGelu =
    "f32: exp=6ulp ftz=yes tiny=1.67e-38 erf=7e-7abs tanh=2ulp nonfinite=unspecified signed_zero=ignore -- native/Activation.cpp gelu_out_cpu "
    "calls oneDNN for dense tensors, elsewhere cpu/vec/vec256/vec256_float.h Sleef_*_u10 (1.0 ULP) and glibc's tanhf (2)\n"
    "f64: exp=1ulp erf=1ulp tanh=2ulp -- cpu/vec/vec256/vec256_double.h Sleef_*_u10 (1.0 ULP) and glibc's tanh (2)\n"
    "bf16: compute=bf16 ftz=yes erf=7e-7abs nonfinite=unspecified signed_zero=ignore -- native/Activation.cpp gelu_out_cpu "
    "calls oneDNN for dense tensors, elsewhere native/cpu/Activation.cpp GeluKernelImpl on c10::BFloat16\n"
    "layout_invariant=no row_invariant=no thread_invariant=no -- native/Activation.cpp use_mkldnn, "
    "native/cpu/Activation.cpp GeluKernelImpl: by memory, and full vectors apart from the rest";

// The cascade of multi_row_sum (4 levels of 16 terms or more, 4 rows, the lanes of a vector) is shorter than 64 partial sums, where one
// dimension is summed. Of several that are no single one in memory, the sums of the outer ones are added into the result one after
// the other (CastStoreAccumulate), so that chain=partial(64) would not hold. Rows of softmax along other dimensions than the last one,
// sums of batch norm and of group norm with channels_last, and Welford's update of var are sequential, too.
constexpr std::string_view kReduction =
    "layout_invariant=no row_invariant=no thread_invariant=no -- native/cpu/SumKernel.cpp cascade_sum: the order of a "
    "sum follows strides and sizes\n"
    "bf16: compute=bf16 -- native/cpu/SumKernel.cpp CastStoreAccumulate adds the sums of parts in the result, as bf16; "
    "native/ReduceOps.cpp mean_out divides the rounded sum\n"
    "f16: compute=f16 -- the same in f16";

// Three: (self - fmod) is rounded, and so is its quotient; to the nearest integer, where the formula takes the one below.
constexpr std::string_view kFloorDivision =
    "div=3 -- native/cpu/BinaryOpsKernel.cpp div_floor_kernel divides self - fmod(self, other)\n"
    "bf16: compute=bf16 -- c10/util/BFloat16-math.h rounds every operation\n"
    "f16: compute=f16 -- c10/util/Half-inl.h rounds every operation";

constexpr std::string_view kConvolution =
    "layout_invariant=no row_invariant=no thread_invariant=no -- native/Convolution.cpp _select_conv_backend: oneDNN, "
    "slow_conv on the installed BLAS or depthwise, by layouts and sizes; grad_bias is grad_output.sum, whose order "
    "follows strides (native/cpu/SumKernel.cpp cascade_sum)\n"
    "bf16: compute=bf16 -- native/CPUBlas.cpp gemm for BFloat16 and native/cpu/SumKernel.cpp CastStoreAccumulate add as "
    "bf16\n"
    "bf16: ftz=yes daz=yes -- native/mkldnn/Conv.cpp: oneDNN uses vdpbf16ps, which flushes subnormals (Intel 64 and "
    "IA-32 Software Developer's Manual, volume 2)\n"
    "f16: compute=f16 -- native/CPUBlas.cpp gemm for Half adds as f16";

// rstd is 0 where variance and eps are (native/Normalization.cpp InvStd): no contract covers that.
constexpr std::string_view kBatchNorm =
    "affine=folded -- native/cpu/batch_norm_kernel.cpp batch_norm_cpu_collect_linear_and_constant_terms: alpha = "
    "invstd * weight, beta = bias - mean * alpha\n"
    "signed_zero=ignore -- the same: adds 0 where there is no bias\n"
    "layout_invariant=no row_invariant=no thread_invariant=no -- native/Normalization.cpp "
    "batch_norm_cpu_transform_input_template: another formula where tensors have gaps; "
    "native/cpu/batch_norm_kernel.cpp batch_norm_cpu_collect_stats_channels_last_impl: sums for each thread\n"
    "bf16: compute=bf16 -- native/cpu/batch_norm_kernel.cpp batch_norm_cpu_contiguous_impl<BFloat16>: alpha and beta "
    "are c10::BFloat16, and mean in batch_norm_cpu_collect_stats_contiguous_impl";

constexpr std::array kEntries{
    // Full vectors take one multiply-add; the tail, and tensors with other strides, the scalar formula, whose product may
    // be rounded by itself. f16 has only the latter. A difference is a sum with -alpha (native/BinaryOps.cpp sub_out).
    Entry{"add.Tensor", kSum},
    Entry{"sub.Tensor", kDifference},
    Entry{"div.Tensor_mode", kFloorDivision},

    // A product with the scale's reciprocal.
    Entry{
        "quantize_per_tensor",
        "u8,i8: div=1 nonfinite=unspecified -- native/quantized/AffineQuantizerBase.cpp quantize_val, without FBGEMM: "
        "value * (1.0f / scale); NaN and infinity are converted to int64_t, which C++ leaves undefined"},

    // native/Activation.cpp relu is clamp_min(self, 0): one comparison, and -0 stays, as in Assay's reference.
    Entry{"relu", ""},

    // The forward kernels multiply two bf16 numbers in f32, which is exact, and round once.
    Entry{"prelu", ""},

    Entry{"prelu_backward",
          "bf16: compute=bf16 -- native/Activation.cpp prelu_backward_cpu keeps self * grad_output as bf16 "
          "(weight_grad_collector), native/cpu/SumKernel.cpp CastStoreAccumulate adds partial sums as bf16"},

    Entry{"mm", kProducts},
    Entry{"addmm", kProducts},
    Entry{"bmm", kProducts},
    Entry{"linear", kProducts},

    // exp(x) - 1 in place of expm1(x): the error of exp, up to 2^-23 where exp is below 2 and else at most 2 units of the
    // difference, and one rounding. Sleef in full vectors, the C library elsewhere; bf16 in f32.
    Entry{
        "elu",
        "f32,bf16: expm1=2.5ulp+1.2e-7abs -- native/cpu/Activation.cpp elu_kernel: exp - 1\n"
        "f64: expm1=2.5ulp+2.3e-16abs -- native/cpu/Activation.cpp elu_kernel: exp - 1\n"
        "signed_zero=ignore -- native/cpu/Activation.cpp elu_kernel: exp(-0) - 1 is +0\n"
        "layout_invariant=no thread_invariant=no -- native/cpu/Activation.cpp elu_kernel: Sleef_expf8_u10 for "
        "full vectors, std::exp for the rest"},

    // Dense f32 and bf16 go to oneDNN for "none" (native/Activation.cpp gelu_out_cpu), whose erf is that of
    // optimized/onednn/eltwise_contracts.h; else Sleef for full vectors and the C library for the rest.
    Entry{"gelu", kGelu},
    Entry{"gelu_backward", kGelu},

    Entry{
        "maximum",
        "signed_zero=ignore -- cpu/vec/vec256/vec256_float.h maximum is VMAXPS, which gives its second operand of two "
        "zeros; std::max gives its first"},

    Entry{"minimum",
          "signed_zero=ignore -- cpu/vec/vec256/vec256_float.h minimum is VMINPS; std::min gives its first"},

    Entry{
        "clamp.Tensor",
        "signed_zero=ignore -- native/cpu/TensorCompareKernel.cpp clamp_kernel_impl: std::max and std::min"},

    // x^3 is x * x * x, x^-2 is 1 / (x * x) and x^(-1/2) is 1 / sqrt(x): two roundings, of up to one unit each.
    Entry{
        "pow.Tensor_Scalar",
        "pow=2ulp layout_invariant=no thread_invariant=no -- native/cpu/PowKernel.cpp pow_tensor_scalar_optimized_kernel\n"
        "bf16: compute=bf16 -- the same: operations on c10::BFloat16\n"
        "f16: compute=f16 -- c10/util/Half-inl.h rounds every operation"},

    Entry{
        "rsqrt",
        "bf16: compute=bf16 layout_invariant=no thread_invariant=no -- cpu/vec/vec256/vec256_bfloat16.h rsqrt computes "
        "in f32, native/cpu/UnaryOpsKernel.cpp rsqrt_kernel rounds the root to bf16 outside of full vectors"},

    Entry{"sigmoid",
          "exp=1ulp layout_invariant=no thread_invariant=no -- native/cpu/UnaryOpsKernel.cpp sigmoid_kernel: "
          "Sleef_expf8_u10 (1.0 ULP) for full vectors, std::exp for the rest"},
    Entry{
        "silu",
        "exp=1ulp layout_invariant=no thread_invariant=no -- native/cpu/Activation.cpp silu_kernel: Sleef_expf8_u10 "
        "(1.0 ULP) for full vectors, std::exp for the rest\n"
        "bf16: compute=bf16 -- the same: operations on c10::BFloat16"},
    Entry{
        "softplus",
        "exp=1ulp log1p=1ulp layout_invariant=no thread_invariant=no -- native/cpu/Activation.cpp softplus_kernel: "
        "Sleef (1.0 ULP) for full vectors, the C library for the rest"},
    Entry{
        "tanh_backward",
        "layout_invariant=no thread_invariant=no -- native/cpu/BinaryOpsKernel.cpp tanh_backward_kernel: vectors and "
        "the scalar rest of 1 - b * b are compiled apart, and GCC fuses either or not"},

    // Rows along the last dimension: a reciprocal and a product. Along others: vectors of neighbouring rows, and a
    // scalar tail with the C library's exp, whose start depends on the number of rows and of threads.
    Entry{
        "softmax.int",
        "f64,f32: exp=1ulp -- cpu/vec/vec256/vec256_float.h exp is Sleef_expf8_u10 (1.0 ULP); the tail of "
        "native/cpu/SoftMaxKernel.cpp _vec_softmax calls std::exp\n"
        "div=1 -- native/cpu/SoftMaxKernel.cpp _vec_softmax_lastdim multiplies by 1 / sum\n"
        "row_invariant=no thread_invariant=no -- native/cpu/SoftMaxKernel.cpp _vec_softmax, Case 1 and Case 2\n"
        // Half an ulp of bf16 is 2^15 ulps of f32, plus those of exp; subnormal ones are 2^-134 apart from the tie.
        "bf16: exp=32770ulp+5e-41abs -- native/cpu/SoftMaxKernel.cpp _vec_softmax(BFloat16*): the tail keeps each "
        "exponential as bf16"},

    Entry{"convolution", kConvolution},
    Entry{"convolution_backward", kConvolution},

    // Sums are taken by rows or by columns, in four chains of vectors or in one of scalars (native/cpu/SumKernel.cpp
    // cascade_sum), as strides and sizes have it.
    Entry{"sum.dim_IntList", kReduction},
    Entry{"mean.dim", kReduction},
    Entry{
        "amax",
        "signed_zero=ignore -- native/cpu/ReduceOpsKernel.cpp max_values_kernel_impl: a > b decides, and 0 > -0 is "
        "false\n"
        "layout_invariant=no row_invariant=no thread_invariant=no -- which zero it keeps depends on the order"},

    // What the two ways below make of scales, and the first of bf16, no contract covers.
    Entry{
        "upsample_nearest2d",
        "layout_invariant=no -- native/cpu/UpSampleKernel.cpp: HelperInterpNearest computes sources in the dtype of the "
        "tensor, cpu_upsample_nearest_channels_last by native/UpSample.h nearest_idx in f32"},

    // A scale may lead beyond the image, and what is read there counts: no contract covers that.
    Entry{
        "upsample_bilinear2d",
        "layout_invariant=no -- native/cpu/UpSampleKernel.cpp: HelperInterpLinear goes along one dimension after the "
        "other, cpu_upsample_linear_channels_last multiplies the weights of both\n"
        "bf16: compute=bf16 -- the same: scales, weights and, in HelperInterpLinear, products and sums as "
        "c10::BFloat16"},

    Entry{
        "max_pool2d_with_indices_backward",
        "bf16: compute=bf16 -- native/cpu/MaxPoolKernel.cpp cpu_max_pool_backward adds to grad_input, as bf16"},

    Entry{"avg_pool2d",
          "signed_zero=ignore -- native/cpu/AvgPoolKernel.cpp cpu_avg_pool adds the quotient to a zero, "
          "cpu_avg_pool_channels_last stores it"},

    // Each prefix in double, for bf16 and f16 in float (AccumulateType.h).
    Entry{"cumsum", ""},

    // One result: the mean in the dtype of the input, then squares in double. Several: Welford's update in double, for
    // bf16 and f16 in float, and parts of them merged (native/SharedReduceOps.h WelfordOps).
    Entry{
        "var.correction",
        "moments=updating layout_invariant=no row_invariant=no thread_invariant=no -- native/cpu/ReduceOpsKernel.cpp "
        "std_var_kernel_impl: WelfordOps by binary_kernel_reduce; native/ReduceOps.cpp std_var_all_reduce_cpu: two "
        "passes where there is one result"},

    // Rows of no more elements than a vector has go through the update alone; d^2 n_A with n_A = 0 is NaN where d^2
    // overflows: no contract covers that.
    Entry{
        "native_layer_norm",
        "moments=updating affine=folded -- native/cpu/moments_utils.h RowwiseMomentsImpl: Welford's update in vectors, "
        "merged as a cascade; native/cpu/layer_norm_kernel.cpp LayerNormKernelImplInternal: x * scale + bias with bias "
        "= -rstd * mean\n"
        "signed_zero=ignore -- native/cpu/layer_norm_kernel.cpp LayerNormKernelImplInternal: adds 0 where there is no "
        "bias\n"
        // Of V lanes, at most 16: 16 updates in a chunk, 2 log2(n / 16V) merges of chunks and V of lanes; of the n mod V numbers at the
        // end up to V - 1 updates and V merges. Neither is more than n/32 + 32.
        "f64,f32: chain=partial(32) -- native/cpu/moments_utils.h RowwiseMomentsImpl: kChunkSize 16, m0_stk, then lanes and "
        "the rest one after the other\n"
        "bf16: compute=bf16 -- the same: mean, rstd, scale and bias are c10::BFloat16"},
    Entry{
        "native_layer_norm_backward",
        "affine=folded div=1 layout_invariant=no row_invariant=no thread_invariant=no -- "
        "native/cpu/layer_norm_kernel.cpp LayerNormBackwardKernelImplInternal: dX = rstd * dY * gamma + b * X + c, times "
        "1 / N where the formula divides; the gradients of gamma and beta are added by thread\n"
        "bf16: compute=bf16 -- the same: sums, b and c are c10::BFloat16"},

    // Beside what is said of layer norm: with channels_last E[x^2] - E[x]^2, and the number of elements by which sums are
    // divided in bf16; weights are read as if they had no gaps. No contract covers these.
    Entry{
        "native_group_norm",
        "moments=updating affine=folded -- native/cpu/group_norm_kernel.cpp GroupNormKernelImplInternal: RowwiseMoments "
        "(native/cpu/moments_utils.h), then x * scale + bias with scale = rstd * gamma, bias = -scale * mean + beta\n"
        "signed_zero=ignore -- the same: adds 0 where there is no beta\n"
        "layout_invariant=no row_invariant=no thread_invariant=no -- the same, "
        "GroupNormKernelImplChannelsLastInternal: other sums, for each thread where images are large\n"
        "bf16: compute=bf16 -- the same: mean, rstd, scale and bias are c10::BFloat16"},

    Entry{"native_batch_norm", kBatchNorm},
    Entry{"_native_batch_norm_legit_functional", kBatchNorm},

    // With bf16 rows along another dimension, the maximum of every second half of a vector is that of the first half
    // (native/cpu/SoftMaxKernel.cpp _vec_logsoftmax<BFloat16>, "max_fvec0.store" twice): no contract covers that.
    Entry{
        "log_softmax.int",
        "f64,f32: exp=1ulp log=1ulp -- cpu/vec/vec256/vec256_float.h exp and log are Sleef_*_u10 (1.0 ULP)\n"
        "row_invariant=no thread_invariant=no -- native/cpu/SoftMaxKernel.cpp _vec_logsoftmax, a scalar tail whose "
        "start depends on the number of rows; _vec_log_softmax_lastdim takes logarithms by chunks of rows\n"
        "bf16: compute=bf16 accumulate=f32 -- native/cpu/SoftMaxKernel.cpp _vec_log_softmax_lastdim keeps the sum and "
        "its logarithm as bf16 (tmp_sum_scalar)"},

    // The forward result is read as if it were contiguous (native/SoftMax.cpp softmax_backward_cpu_out: output_ is
    // made and not used), and shapes are not compared: no contract covers either.
    Entry{
        "_softmax_backward_data",
        "row_invariant=no thread_invariant=no -- native/cpu/SoftMaxKernel.cpp _vec_softmax_backward, a scalar tail "
        "whose start depends on the number of rows\n"
        "bf16: compute=bf16 accumulate=f32 -- native/cpu/SoftMaxKernel.cpp _vec_host_softmax_backward_lastdim keeps "
        "the sum as bf16"},
    Entry{
        "_log_softmax_backward_data",
        "f64,f32: exp=1ulp -- cpu/vec/vec256/vec256_float.h exp is Sleef_expf8_u10 (1.0 ULP); the tail of "
        "native/cpu/SoftMaxKernel.cpp _vec_log_softmax_backward calls std::exp\n"
        "row_invariant=no thread_invariant=no -- native/cpu/SoftMaxKernel.cpp _vec_log_softmax_backward, a scalar "
        "tail whose start depends on the number of rows\n"
        "bf16: compute=bf16 accumulate=f32 -- native/cpu/SoftMaxKernel.cpp _vec_host_softmax_backward_lastdim keeps "
        "the sum as bf16"},
};

// For operators without an entry. The scalar loops beside the vectors call glibc, whose manual ("Errors in Math
// Functions", x86_64) gives tanh 2 ulp and the others 1.
constexpr std::string_view kUnlisted =
    "exp=1ulp log=1ulp tanh=2ulp erf=1ulp sin=1ulp cos=1ulp asin=1ulp acos=1ulp atan=1ulp exp2=1ulp log2=1ulp "
    "expm1=1ulp log1p=1ulp pow=1ulp atan2=1ulp -- cpu/vec/vec256/vec256_float.h calls Sleef_*_u10 (1.0 ULP); glibc manual, Errors "
    "in Math Functions\n"
    "bf16: compute=bf16 -- cpu/vec/vec256/vec256_bfloat16.h bfloat16_binary_op_as_fp32 rounds every operation\n"
    "f16: compute=f16 -- c10/util/Half-inl.h rounds every operation";

}  // namespace

#define ASSAY_OTHER_TORCH                                                                                                    \
  "layout_invariant=no row_invariant=no -- pytorch.org, Numerical accuracy: \"not guaranteed to produce bitwise "            \
  "identical results for floating point computations that are mathematically identical\", of batched and sliced ones\n"      \
  "exp=4ulp log=4ulp tanh=4ulp erf=4ulp sin=4ulp cos=4ulp asin=4ulp acos=4ulp atan=4ulp exp2=4ulp log2=4ulp "                \
  "expm1=4ulp log1p=4ulp pow=4ulp atan2=4ulp div=2 sqrt=2 moments=updating affine=folded signed_zero=ignore -- what common " \
  "libraries do: Assay knows the source of PyTorch 1.13\n"                                                                   \
  "bf16: compute=bf16 -- every operation rounded, as in PyTorch 1.13\n"                                                      \
  "f16: compute=f16 -- every operation rounded, as in PyTorch 1.13"

std::string_view contract_of_other_versions(std::string_view op) {
  if (op == "mul.Tensor" || op == "div.Tensor" || op == "div.Tensor_mode")
    return ASSAY_OTHER_TORCH
        "\nf16,bf16: operands=wide -- PyTorch 2, native/cpu/BinaryOpsKernel.cpp mul_kernel and div_true_kernel: "
        "iter.original_scalar_value<opmath_t>(2)";
  if (op == "mean.dim")
    return ASSAY_OTHER_TORCH
        "\nf16,bf16: operands=wide -- PyTorch 2, native/ReduceOps.cpp mean_out: sum_out_dtype is float for f16 and bf16";
  return ASSAY_OTHER_TORCH;
}

std::string_view contract_of(std::string_view op) {
  const auto* entry = std::ranges::find(kEntries, op, &Entry::op);
  return entry == kEntries.end() ? kUnlisted : entry->clauses;
}

}  // namespace assay::oracle

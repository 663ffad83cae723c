// Variants that a right kernel may be: each with the reason, in one line.
#include <fnmatch.h>

#include <algorithm>
#include <string>

#include "variant.h"

namespace assay {
namespace {

struct Excuse {
  std::string_view variant;    // shell glob
  std::string_view operators;  // names, separated by spaces
  std::string_view reason;
  DtypeSet dtypes = kFloatingPoint | kIntegers;
};

constexpr DtypeSet operator-(DtypeSet all, Dtype one) {
  DtypeSet others{};
  for (int d = 0; d < kDtypes; ++d)
    if (const auto dtype = static_cast<Dtype>(d); dtype != one && all.contains(dtype))
      others = others | only(dtype);
  return others;
}

constexpr std::string_view kSumOfZeros =
    "whether a sum begins with a zero is left to the kernel, and so is the sign of a sum of zeros";

constexpr Excuse kExcuses[] = {
    {"results.negative_zero_lost",
     "acos exp sigmoid softmax.int rsqrt var.correction dequantize_per_tensor log log_softmax.int",
     "the formula never gives -0"},
    {"results.negative_zero_lost", "cumsum sum.dim_IntList max_pool2d_with_indices_backward", kSumOfZeros},
    {"results.negative_zero_lost", "addmm mm bmm linear convolution convolution_backward mean.dim",
     kSumOfZeros, kFloatingPoint - Dtype::f16},  // which rounds sums of f32 to zero
    {"results.sign_lost", "acos exp sigmoid softmax.int var.correction", "the formula is never negative"},
    {"results.infinity_as_*", "acos erf sigmoid softmax.int tanh", "the formula is never infinite"},
    {"results.nan_as_zero", "dequantize_per_tensor", "the formula is never NaN"},
    {"results.subnormal_as_zero", "acos log rsqrt sqrt", "the formula never gives a subnormal number"},
    {"results.subnormal_as_zero", "log_softmax.int",
     "results so near 0 are what is left of numbers that were rounded to 1", kFloatingPoint - Dtype::f16},
    {"results.small_as_zero", "acos", "between 0 and 2^-10 the formula gives no number",
     only(Dtype::f16) | only(Dtype::bf16)},
    {"results.small_as_zero", "log", "numbers next to 1 have logarithms above 2^-10", only(Dtype::bf16)},
    {"results.small_as_zero", "rsqrt", "the largest number gives more than 2^-10", only(Dtype::f16)},
    {"self.small_as_zero", "acos exp sigmoid", "the function rounds to what it is at 0", only(Dtype::bf16)},
    {"self.subnormal_as_zero", "exp sigmoid", "the function rounds to what it is at 0", only(Dtype::f16)},
    {"self.clipped", "acos erf exp sigmoid tanh", "beyond 2^12 the function is what it is at 2^12"},
    {"output.clipped", "_log_softmax_backward_data", "beyond 2^12 the exponential is what it is at 2^12"},
    {"results.negative_zero_lost", "erf tanh",
     "the error in ulp that the kernel's contract states reaches both sides of 0"},
    {"self.subnormal_as_zero", "acos exp gelu_backward sigmoid softmax.int log_softmax.int",
     "the function rounds to what it is at 0", only(Dtype::f64) | only(Dtype::f32) | only(Dtype::bf16)},
    {"self.subnormal_as_zero", "var.correction", "the squares of subnormal numbers are 0"},
    {"output.subnormal_as_zero", "_log_softmax_backward_data", "the function rounds to what it is at 0",
     kFloatingPoint - Dtype::f16},
    {"output.subnormal_as_zero", "tanh_backward", "the function rounds to what it is at 0"},
    {"output.small_as_zero", "tanh_backward", "1 - output^2 rounds to 1",
     only(Dtype::f16) | only(Dtype::bf16)},
    {"output.sign_lost", "tanh_backward", "the formula takes the square"},
    {"self.swapped_with_other", "maximum mul.Tensor", "the formula is symmetric"},
    {"results.in_half_the_bits", "argmax", "places beyond 2^31 take gigabytes"},
    {"rounding_mode.always_*", "div.Tensor_mode", "of numbers without sign, trunc is floor", only(Dtype::u8)},
    {"weight_scale.nan_as_zero", "quantized_convolution quantized_linear",
     "scales are positive normal numbers"},
    {"weight_scale.infinity_as_zero", "quantized_convolution quantized_linear",
     "scales are positive normal numbers"},
    {"weight_scale.subnormal_as_zero", "quantized_convolution quantized_linear",
     "scales are positive normal numbers"},
    {"weight_scale.sign_lost", "quantized_convolution quantized_linear",
     "scales are positive normal numbers"},
    {"weight_zero_point.in_half_the_bits", "quantized_convolution quantized_linear",
     "half the bits of an i64 hold every zero point"},
    {"padding_idx.*", "embedding", "it concerns the gradient alone"},
    {"scale_grad_by_freq.*", "embedding", "it concerns the gradient alone"},
    {"sparse.*", "embedding", "it concerns the gradient alone"},
    {"momentum.*", "native_batch_norm",
     "it concerns running statistics, which are no results of this operator"},
    {"bias.dropped", "native_layer_norm_backward", "the gradient does not depend on the bias"},
    {"kernel_size.*", "max_pool2d_with_indices_backward", "the indices say where gradients go"},
    {"stride.*", "max_pool2d_with_indices_backward", "the indices say where gradients go"},
    {"padding.*", "max_pool2d_with_indices_backward", "the indices say where gradients go"},
    {"dilation.*", "max_pool2d_with_indices_backward", "the indices say where gradients go"},
};

std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> all;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    all.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return all;
}

}  // namespace

std::string_view unobservable(const Operator& op, const Variant& variant, Dtype dtype) {
  for (const Excuse& e : kExcuses)
    if (e.dtypes.contains(dtype) && std::ranges::count(words(e.operators), op.schema.name) > 0 &&
        fnmatch(std::string(e.variant).c_str(), variant.name.c_str(), 0) == 0)
      return e.reason;
  return {};
}

std::vector<std::pair<std::string_view, std::string_view>> excused() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const Excuse& e : kExcuses)
    for (const std::string_view op : words(e.operators)) all.emplace_back(e.variant, op);
  return all;
}

}  // namespace assay

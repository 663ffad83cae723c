// quantized_linear by oneDNN's matmul, with a scale of its output and zero points. What lies in tensors it is given when
// it runs.
#include "ops/quantized_linear.h"

#include <algorithm>
#include <utility>

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const auto& m = key.memories;
  const bool bias = key.numbers[0] != 0;
  const auto description = bias ? dnnl::matmul::desc(m[0].make(), m[1].make(), m[5].make(), m[2].make())
                                : dnnl::matmul::desc(m[0].make(), m[1].make(), m[2].make());
  return dnnl::matmul::primitive_desc(description, key.attributes.make(), engine);
}

void run(const Level& level, const View& input, const View& weight, const View& weight_scale,
         const View& weight_zero_point, const View* bias, double input_scale, std::int64_t input_zero_point,
         double output_scale, std::int64_t output_zero_point, View& out) {
  if (input.numel() == 0 || weight.numel() == 0) throw Refused("oneDNN's matmul divides by a size of zero");
  if (weight_zero_point.size(0) != 1) throw Refused("oneDNN's matmul has one zero point for all weights");
  if (bias != nullptr && bias->size(0) > 1 && bias->stride(0) != 1)
    throw Refused("oneDNN's matmul reads a bias as if its columns were neighbours, whatever its strides");
  Operation operation(level, dnnl::primitive::kind::matmul);
  const int rank = std::max(2, out.rank());
  Descriptor transposed = describe(weight);
  std::swap(transposed.sizes[0], transposed.sizes[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  float factor = 1;
  if (!operation.asks_only())
    factor =
        static_cast<float>(input_scale) * *weight_scale.as<const float>() / static_cast<float>(output_scale);
  View scale = weight_scale;
  scale.data = &factor;
  operation.tensor(DNNL_ARG_SRC, input, with_rank(describe(input), rank));
  operation.tensor(DNNL_ARG_WEIGHTS, weight, with_rank(transposed, rank));
  operation.tensor(DNNL_ARG_DST, out, with_rank(describe(out), rank));
  operation.tensor(DNNL_ARG_ATTR_OUTPUT_SCALES, scale);
  operation.tensor(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS, weight_zero_point);
  if (bias != nullptr) operation.tensor(DNNL_ARG_BIAS, *bias, with_rank(describe(*bias), rank));
  operation.key.numbers = {bias != nullptr};
  operation.key.attributes.scales.push_back({0, 0, {{DNNL_RUNTIME_F32_VAL}}});
  operation.key.attributes.zero_points = {{DNNL_ARG_SRC, static_cast<std::int32_t>(input_zero_point)},
                                          {DNNL_ARG_WEIGHTS, DNNL_RUNTIME_S32_VAL},
                                          {DNNL_ARG_DST, static_cast<std::int32_t>(output_zero_point)}};
  operation.run(build);
}

constexpr const char* kSource = "optimized/onednn/quantized_linear.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::quantized_linear, run, kSse41>(nullptr, kSource),
    kernel_at<ops::quantized_linear, run, kAvx2>(nullptr, kSource),
    kernel_at<ops::quantized_linear, run, kAvx512>(nullptr, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn

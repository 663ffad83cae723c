// quantize_per_tensor and its way back by oneDNN's reorder primitive with a scale and a zero point.
#include "ops/quantize.h"

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  return dnnl::reorder::primitive_desc(engine, key.memories[0].make(), engine, key.memories[1].make(),
                                       key.attributes.make());
}

void reorder(const Level& level, const View& self, float scale, ZeroPoint zero_point, View& out) {
  Operation operation(level, dnnl::primitive::kind::reorder);
  operation.tensor(DNNL_ARG_FROM, self);
  operation.tensor(DNNL_ARG_TO, out);
  operation.key.attributes.scales.push_back({0, 0, {{scale}}});
  operation.key.attributes.zero_points.push_back(zero_point);
  operation.run(build);
}

void quantize(const Level& level, const View& self, double scale, std::int64_t zero_point, Dtype, View& out) {
  reorder(level, self, 1.0f / static_cast<float>(scale),
          {DNNL_ARG_DST, static_cast<std::int32_t>(zero_point)}, out);
}

void dequantize(const Level& level, const View& self, double scale, std::int64_t zero_point, View& out) {
  reorder(level, self, static_cast<float>(scale), {DNNL_ARG_SRC, static_cast<std::int32_t>(zero_point)}, out);
}

constexpr std::string_view kReciprocal =
    "u8,i8: div=1 -- optimized/onednn/quantize.cpp: output_scales holds the scale's reciprocal, rounded";
constexpr auto kContract = kJoined<kReciprocal>;
constexpr const char* kSource = "optimized/onednn/quantize.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::quantize_per_tensor, quantize, kSse41>(kContract, kSource),
    kernel_at<ops::quantize_per_tensor, quantize, kAvx2>(kContract, kSource),
    kernel_at<ops::quantize_per_tensor, quantize, kAvx512>(kContract, kSource),
    kernel_at<ops::dequantize_per_tensor, dequantize, kSse41>(nullptr, kSource),
    kernel_at<ops::dequantize_per_tensor, dequantize, kAvx2>(nullptr, kSource),
    kernel_at<ops::dequantize_per_tensor, dequantize, kAvx512>(nullptr, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn

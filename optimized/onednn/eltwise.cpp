// Element-wise operators of one tensor, and their gradients, by oneDNN's eltwise primitive, whose source and
// destination share one memory descriptor. softplus is not here, because oneDNN's soft_relu has no threshold.
//
// Its reference implementation (src/cpu/ref_eltwise.cpp, execute_forward_generic), which takes what is not
// dense, walks five dimensions named N, C, D, H, W: of one dimension it computes nothing, since C is then 0,
// and of six or more it walks the wrong ones. Hence the dimension of size 1 in front, and the refusal.
#include <algorithm>
#include <limits>

#include "eltwise_contracts.h"
#include "operation.h"
#include "ops/activation.h"
#include "ops/clamp.h"
#include "ops/functions.h"
#include "ops/gelu.h"

namespace assay::onednn {
namespace {

using dnnl::algorithm;

template <class Description>
Description trusted(const PrimitiveKey& key, Description description) {
  if (key.memories[0].rank > 5 && description.impl_info_str() == std::string_view("ref:any"))
    throw Refused(
        "oneDNN's eltwise walks the wrong elements of tensors with gaps and more than 5 dimensions");
  return description;
}

dnnl::eltwise_forward::primitive_desc forward(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::eltwise_forward::desc desc(key.propagation, key.algorithm, key.memories[0].make(),
                                         key.alpha.value, key.beta.value);
  return {desc, key.attributes.make(), engine};
}

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  return trusted(key, forward(key, engine));
}

dnnl::primitive_desc_base build_backward(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::eltwise_backward::desc desc(key.algorithm, key.memories[1].make(), key.memories[0].make(),
                                          key.alpha.value, key.beta.value);
  return trusted(
      key, dnnl::eltwise_backward::primitive_desc(desc, key.attributes.make(), engine, forward(key, engine)));
}

// `memory` with room for the two dimensions that oneDNN wants.
Descriptor padded(const View& tensor) { return with_rank(describe(tensor), std::max(2, tensor.rank())); }

void run(const Level& level, algorithm how, const View& self, View& out, float alpha = 0, float beta = 0) {
  refuse_integers(out);
  Operation operation(level, dnnl::primitive::kind::eltwise);
  operation.key.propagation = dnnl::prop_kind::forward_inference;
  operation.key.algorithm = how;
  operation.key.alpha = {alpha};
  operation.key.beta = {beta};
  operation.tensor(DNNL_ARG_SRC, self, padded(self));
  operation.tensor(DNNL_ARG_DST, out, padded(out));
  if (operation.key.memories[0] != operation.key.memories[1])
    throw Refused("oneDNN's eltwise wants the result to have the strides of its input");
  operation.run(build);
}

// `of` is the forward's source or destination, as `argument` says.
void run_backward(const Level& level, algorithm how, int argument, const View& grad, const View& of,
                  View& out) {
  if (grad.rank() != of.rank() || !std::ranges::equal(grad.sizes(), of.sizes()))
    throw Refused("oneDNN's eltwise gradient broadcasts nothing");
  Operation operation(level, dnnl::primitive::kind::eltwise);
  operation.key.propagation = dnnl::prop_kind::forward_training;
  operation.key.algorithm = how;
  operation.tensor(argument, of, padded(of));
  operation.tensor(DNNL_ARG_DIFF_DST, grad, padded(grad));
  operation.tensor(DNNL_ARG_DIFF_SRC, out, padded(out));
  const std::vector<Descriptor>& memories = operation.key.memories;
  if (memories[0] != memories[1] || memories[0] != memories[2])
    throw Refused("oneDNN's eltwise gradient wants one dtype and the same strides everywhere");
  operation.run(build_backward);
}

template <algorithm how>
void unary(const Level& level, const View& self, View& out) {
  run(level, how, self, out);
}

void silu(const Level& level, const View& self, View& out) {
  run(level, algorithm::eltwise_swish, self, out, 1);
}

void gelu(const Level& level, const View& self, std::string_view approximate, View& out) {
  run(level, approximate == "tanh" ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf, self, out);
}

void leaky_relu(const Level& level, const View& self, Scalar slope, View& out) {
  const auto alpha = static_cast<float>(slope.real);
  if (alpha == 0) throw Refused("oneDNN takes max(x, 0) for a slope of 0");
  run(level, algorithm::eltwise_relu, self, out, alpha);
}

void elu(const Level& level, const View& self, Scalar alpha, Scalar scale, Scalar input_scale, View& out) {
  if (scale.real != 1 || input_scale.real != 1) throw Refused("oneDNN's elu has no scales");
  run(level, algorithm::eltwise_elu, self, out, static_cast<float>(alpha.real));
}

void clamp(const Level& level, const View& self, std::optional<Scalar> min, std::optional<Scalar> max,
           View& out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double least = min ? min->real : -infinity, most = max ? max->real : infinity;
  if (!(static_cast<float>(least) <= static_cast<float>(most)))
    throw Refused("oneDNN's clip wants its bounds in order");
  run(level, algorithm::eltwise_clip_v2, self, out, static_cast<float>(least), static_cast<float>(most));
}

void tanh_backward(const Level& level, const View& grad_output, const View& output, View& out) {
  run_backward(level, algorithm::eltwise_tanh_use_dst_for_bwd, DNNL_ARG_DST, grad_output, output, out);
}

void gelu_backward(const Level& level, const View& grad_output, const View& self,
                   std::string_view approximate, View& out) {
  const auto how = approximate == "tanh" ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf;
  run_backward(level, how, DNNL_ARG_SRC, grad_output, self, out);
}

constexpr const char* kSource = "optimized/onednn/eltwise.cpp";

// A table of one operator at every level; at SSE4.1, without fused multiply-adds, exp is another.
template <const Operator& op, auto function, class Contracts>
constexpr std::array<assay_kernel, 4> levels() {
  return {kernel_at<op, function, kSse41>(Contracts::sse41, kSource),
          kernel_at<op, function, kAvx2>(Contracts::wider, kSource),
          kernel_at<op, function, kAvx512>(Contracts::wider, kSource),
          kernel_at<op, function, kAvx512Bf16>(Contracts::native_bf16, kSource)};
}

template <class... Tables>
constexpr auto joined(const Tables&... tables) {
  std::array<assay_kernel, 4 * sizeof...(Tables)> all{};
  std::size_t n = 0;
  const auto append = [&](const std::array<assay_kernel, 4>& table) {
    for (const assay_kernel& k : table) all[n++] = k;
  };
  (append(tables), ...);
  return all;
}

constexpr auto kernels =
    joined(levels<ops::relu, unary<algorithm::eltwise_relu>, ReluContract>(),
           levels<ops::leaky_relu, leaky_relu, ExactContract>(),
           levels<ops::exp, unary<algorithm::eltwise_exp>, EltwiseByLevel<kExpSse41, kExp>>(),
           levels<ops::log, unary<algorithm::eltwise_log>, EltwiseByLevel<kLogSse41, kLog>>(),
           levels<ops::sqrt, unary<algorithm::eltwise_sqrt>, ExactContract>(),
           levels<ops::tanh, unary<algorithm::eltwise_tanh>, Eltwise<kTanh>>(),
           levels<ops::tanh_backward, tanh_backward, ExactContract>(),
           levels<ops::sigmoid, unary<algorithm::eltwise_logistic>, EltwiseByLevel<kExpSse41, kExp>>(),
           levels<ops::silu, silu, EltwiseByLevel<kExpSse41, kExp>>(),
           levels<ops::gelu, gelu, GeluContract>(), levels<ops::gelu_backward, gelu_backward, GeluContract>(),
           levels<ops::hardswish, unary<algorithm::eltwise_hardswish>, Eltwise<kHardswish>>(),
           levels<ops::elu, elu, EltwiseByLevel<kExpm1Sse41, kExpm1>>(),
           levels<ops::clamp, clamp, Eltwise<kClip>>());
const Enrolled enrolled{kernels.data(), kernels.size()};

}  // namespace
}  // namespace assay::onednn

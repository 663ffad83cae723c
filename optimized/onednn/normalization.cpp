// native_layer_norm and native_batch_norm by oneDNN's normalisation primitives. They give the variance where ATen gives
// rstd, which is made from it here: 1 / sqrt(variance + eps), as they do for themselves.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "operation.h"
#include "ops/batch_norm.h"
#include "ops/layer_norm.h"

namespace assay::onednn {
namespace {

using dnnl::normalization_flags;

normalization_flags flags_of(const PrimitiveKey& key) {
  return static_cast<normalization_flags>(key.numbers.front());
}

// key.memories: input, output, mean, variance, and what else there is.
dnnl::primitive_desc_base build_layer_norm(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::layer_normalization_forward::desc desc(key.propagation, key.memories[0].make(),
                                                     key.memories[2].make(), key.alpha.value, flags_of(key));
  return dnnl::layer_normalization_forward::primitive_desc(desc, key.attributes.make(), engine);
}

dnnl::primitive_desc_base build_batch_norm(const PrimitiveKey& key, const dnnl::engine& engine) {
  const dnnl::batch_normalization_forward::desc desc(key.propagation, key.memories[0].make(), key.alpha.value,
                                                     flags_of(key));
  return dnnl::batch_normalization_forward::primitive_desc(desc, key.attributes.make(), engine);
}

void only_f32(const View& input) {
  if (input.type() != Dtype::f32)
    throw Refused("oneDNN's normalisations take weights and statistics in f32, whatever the input is");
}

// What both primitives are told of the tensors. One description serves input and output, and there is none to pass for
// weights: they are arrays of f32.
void tensors(Operation& operation, const View& input, const Descriptor& from, const View& out,
             const Descriptor& to) {
  if (from != to) throw Refused("oneDNN's normalisations give the output the strides of the input");
  if (input.numel() == 0) throw Refused("oneDNN's normalisations give no statistics of an empty input");
  operation.tensor(DNNL_ARG_SRC, input, from);
  operation.tensor(DNNL_ARG_DST, out, to);
}

void array(Operation& operation, int argument, const View& v) {
  if (!v.contiguous())
    throw Refused("oneDNN's normalisations take weights and channels' statistics without gaps");
  Descriptor d;
  d.dtype = dnnl::memory::data_type::f32;
  d.rank = 1;
  d.sizes[0] = v.numel();
  d.strides[0] = 1;
  operation.tensor(argument, v, d);
}

void parameters(Operation& operation, const View* weight, const View* bias, double eps,
                normalization_flags flags = normalization_flags::none) {
  operation.key.alpha = {static_cast<float>(eps)};
  if (weight != nullptr) {
    array(operation, DNNL_ARG_SCALE, *weight);
    flags |= normalization_flags::use_scale;
  }
  if (bias != nullptr) {
    array(operation, DNNL_ARG_SHIFT, *bias);
    flags |= normalization_flags::use_shift;
  }
  operation.key.numbers = {static_cast<std::int64_t>(flags)};
}

void to_rstd(View& variance, double eps) {
  for (std::int64_t i = 0; i < variance.numel(); ++i) {
    std::int64_t offset = 0, left = i;
    for (int d = variance.rank() - 1; d >= 0; --d) {
      offset += left % variance.size(d) * variance.stride(d);
      left /= variance.size(d);
    }
    float& x = variance.as<float>()[offset];
    x = 1 / std::sqrt(x + static_cast<float>(eps));
  }
}

// The first dimensions as they are, and the others, which are normalised, as one.
Descriptor rows_of(const View& tensor, int first) {
  const Descriptor all = describe(tensor);
  Descriptor d;
  d.dtype = all.dtype;
  d.rank = first + 1;
  std::int64_t size = 1, stride = 1;
  for (int i = tensor.rank() - 1; i >= first; --i) {
    const auto at = static_cast<std::size_t>(i);
    if (all.sizes[at] == 1) continue;
    if (size > 1 && all.strides[at] != size * stride)
      throw Refused("oneDNN normalises one dimension, and these cannot be read as one");
    if (size == 1) stride = all.strides[at];
    size *= all.sizes[at];
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(first); ++i) {
    d.sizes[i] = all.sizes[i];
    d.strides[i] = all.strides[i];
  }
  d.sizes[static_cast<std::size_t>(first)] = size;
  d.strides[static_cast<std::size_t>(first)] = stride;
  return first > 0 ? d : with_rank(d, 2);
}

// One number for each row.
Descriptor statistic(const View& tensor, int first) {
  Descriptor d = rows_of(tensor, first);
  --d.rank;
  d.sizes[static_cast<std::size_t>(d.rank)] = d.strides[static_cast<std::size_t>(d.rank)] = 0;
  return d;
}

// Whether elements have no gaps between them, in some order of the dimensions.
bool dense(const Descriptor& d) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride and size
  for (std::size_t i = 0; i < static_cast<std::size_t>(d.rank); ++i)
    if (d.sizes[i] > 1) dimensions.emplace_back(d.strides[i], d.sizes[i]);
  std::ranges::sort(dimensions);
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dimensions) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

void layer_norm(const Level& level, const View& input, std::span<const std::int64_t> normalized_shape,
                const View* weight, const View* bias, double eps, View& out, View& mean, View& rstd) {
  only_f32(input);
  const int first = input.rank() - static_cast<int>(normalized_shape.size());
  Operation operation(level, dnnl::primitive::kind::layer_normalization);
  operation.key.propagation = dnnl::prop_kind::forward_training;
  tensors(operation, input, rows_of(input, first), out, rows_of(out, first));
  const Descriptor& rows = operation.key.memories[0];
  if (rows.strides[static_cast<std::size_t>(rows.rank - 1)] == 1 && !dense(rows))
    throw Refused("oneDNN's layer normalisation takes rows for neighbours, whatever their stride");
  operation.tensor(DNNL_ARG_MEAN, mean, statistic(mean, first));
  operation.tensor(DNNL_ARG_VARIANCE, rstd, statistic(rstd, first));
  if (operation.key.memories[2] != operation.key.memories[3])
    throw Refused("oneDNN's layer normalisation wants mean and variance to have the same strides");
  parameters(operation, weight, bias, eps);
  if (operation.run(build_layer_norm)) to_rstd(rstd, eps);
}

void batch_norm(const Level& level, const View& input, const View* weight, const View* bias,
                const View* running_mean, const View* running_var, bool training, double /*momentum*/,
                double eps, View& out, View& mean, View& rstd) {
  only_f32(input);
  Operation operation(level, dnnl::primitive::kind::batch_normalization);
  operation.key.propagation =
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  tensors(operation, input, describe(input), out, describe(out));
  array(operation, DNNL_ARG_MEAN, training ? mean : *running_mean);
  array(operation, DNNL_ARG_VARIANCE, training ? rstd : *running_var);
  parameters(operation, weight, bias, eps,
             training ? normalization_flags::none : normalization_flags::use_global_stats);
  if (operation.run(build_batch_norm) && training) to_rstd(rstd, eps);
}

constexpr std::string_view kLayerDispatch =
    "layout_invariant=no -- oneDNN src/cpu/cpu_layer_normalization_list.cpp: simple or ref, by what each one's init "
    "accepts";
constexpr std::string_view kBatchDispatch =
    "layout_invariant=no row_invariant=no thread_invariant=no -- oneDNN src/cpu/cpu_batch_normalization_list.cpp: jit, "
    "ncsp, nspc or ref, by what each one's init accepts; sums for each thread (src/cpu/nspc_batch_normalization.cpp, "
    "execute_forward)";
constexpr std::string_view kLayerZero =
    "signed_zero=ignore -- oneDNN src/cpu/ref_layer_normalization.cpp, execute_forward: adds 0 where there is no shift";
constexpr std::string_view kBatchZero =
    "signed_zero=ignore -- oneDNN src/cpu/nspc_batch_normalization.cpp, execute_forward: sm * (src - mean) + sv, with sv "
    "0 where there is no shift";
constexpr auto kLayer = kJoined<kLayerDispatch, kLayerZero>;
constexpr auto kBatch = kJoined<kBatchDispatch, kBatchZero>;
constexpr const char* kSource = "optimized/onednn/normalization.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::native_layer_norm, layer_norm, kSse41>(kLayer, kSource),
    kernel_at<ops::native_layer_norm, layer_norm, kAvx2>(kLayer, kSource),
    kernel_at<ops::native_layer_norm, layer_norm, kAvx512>(kLayer, kSource),
    kernel_at<ops::native_batch_norm, batch_norm, kSse41>(kBatch, kSource),
    kernel_at<ops::native_batch_norm, batch_norm, kAvx2>(kBatch, kSource),
    kernel_at<ops::native_batch_norm, batch_norm, kAvx512>(kBatch, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn

// relu for dense f32, in C++20, and wrong: NaN becomes 0.
#include <assay/kernel.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

namespace {

bool is_dense(const assay_tensor& t) {
  std::int64_t step = 1;
  for (int d = t.ndim - 1; d >= 0; step *= t.shape[d--])
    if (t.shape[d] != 1 && t.strides[d] != step) return false;
  return true;
}

int refuses(const assay_call* call) {
  const assay_tensor &x = *call->arguments[0].as.tensor, &y = *call->outputs[0];
  if (x.dtype.code == ASSAY_FLOAT && x.dtype.bits == 32 && is_dense(x) && is_dense(y)) return ASSAY_OK;
  std::snprintf(call->message, call->message_capacity, "only dense f32");
  return ASSAY_REFUSED;
}

int run(const assay_call* call) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  const assay_tensor& x = *call->arguments[0].as.tensor;
  std::size_t n = 1;
  for (int d = 0; d < x.ndim; ++d) n *= static_cast<std::size_t>(x.shape[d]);
  float* y = static_cast<float*>(call->outputs[0]->data);
  for (const float value : std::span(static_cast<const float*>(x.data), n)) *y++ = value > 0 ? value : 0;
  return ASSAY_OK;
}

const assay_kernel kernels[] = {{
    .size = sizeof(assay_kernel),
    .schema = "relu(Tensor self) -> Tensor",
    .name = "wrong.relu",
    .run = run,
    .refuses = refuses,
}};

}  // namespace

const assay_plugin* assay_plugin_v1() {
  static const assay_plugin plugin = {ASSAY_ABI_VERSION, sizeof(assay_kernel), 1, kernels, "wrong", "1.0"};
  return &plugin;
}

#include "decoded_call.h"

#include <cstring>

namespace assay {

void DecodedCall::decode(const WorkerMemory& memory, const WireEntry& entry) {
  const auto* wire = memory.message<WireTensor>(entry.tensors_at);
  tensors_.resize(entry.tensors);
  for (std::uint32_t i = 0; i < entry.tensors; ++i) {
    auto* sizes = const_cast<std::int64_t*>(memory.message<std::int64_t>(wire[i].shape));
    tensors_[i] = {memory.at(wire[i].address),
                   {ASSAY_CPU, 0},
                   wire[i].ndim,
                   wire[i].dtype,
                   sizes,
                   sizes + wire[i].ndim,
                   0};
  }
  outputs_.clear();
  for (std::uint32_t i = entry.tensors - entry.outputs; i < entry.tensors; ++i)
    outputs_.push_back(&tensors_[i]);

  const auto* values = memory.message<WireValue>(entry.values_at);
  lists_.clear();
  values_.resize(entry.values);
  for (std::uint32_t i = 0; i < entry.values; ++i) {
    assay_value& v = values_[i];
    v = {values[i].kind, values[i].count, {}};
    const std::uint64_t payload = values[i].payload;
    switch (v.kind) {
      case ASSAY_KIND_TENSOR:
        v.as.tensor = &tensors_[payload];
        break;
      case ASSAY_KIND_TENSORS:
        v.as.tensors = list(memory.message<std::uint64_t>(payload), v.count);
        break;
      case ASSAY_KIND_DTYPE:
        std::memcpy(&v.as.dtype, &payload, sizeof(v.as.dtype));
        break;
      case ASSAY_KIND_STRING:
        v.as.string = memory.message<char>(payload);
        break;
      case ASSAY_KIND_INTS:
      case ASSAY_KIND_BOOLS:
        v.as.integers = memory.message<std::int64_t>(payload);
        break;
      case ASSAY_KIND_DOUBLES:
        v.as.reals = memory.message<double>(payload);
        break;
      case ASSAY_KIND_DOUBLE:
        std::memcpy(&v.as.real, &payload, sizeof(double));
        break;
      default:
        v.as.integer = static_cast<std::int64_t>(payload);
    }
  }
}

const assay_tensor* const* DecodedCall::list(const std::uint64_t* indices, std::uint32_t n) {
  std::vector<const assay_tensor*>& items = lists_.emplace_back();
  for (std::uint32_t i = 0; i < n; ++i)
    items.push_back(indices[i] == ~std::uint64_t{0} ? nullptr : &tensors_[indices[i]]);
  return items.data();
}

}  // namespace assay

// An entry as its worker reads it, in the messages of the arena (protocol.h). decoded_call.h reads it.
#include <algorithm>
#include <bit>
#include <cstring>

#include "batch.h"
#include "protocol.h"

namespace assay {

std::optional<std::uint64_t> Batch::encode(const Prepared& prepared, std::uint32_t after,
                                           std::span<const Buffer> buffers, std::uint64_t repeats_at) {
  std::byte* const base = arena_.messages().data();
  const auto offset = [base](const void* p) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base);
  };
  const std::span<const assay_value> arguments = prepared.arguments.values();
  const bool in_place = prepared.task.call->in_place >= 0;
  const std::size_t tensor_count = buffers.size() + (in_place ? 1 : 0);

  auto* entry = static_cast<WireEntry*>(message(sizeof(WireEntry)));
  auto* wire_buffers = static_cast<WireBuffer*>(message(buffers.size() * sizeof(WireBuffer)));
  auto* tensors = static_cast<WireTensor*>(message(tensor_count * sizeof(WireTensor)));
  auto* values = static_cast<WireValue*>(message(arguments.size() * sizeof(WireValue)));
  if (values == nullptr || entry == nullptr || wire_buffers == nullptr || tensors == nullptr)
    return std::nullopt;

  const auto tensor = [&](WireTensor& wire, const Buffer& b) {
    const std::size_t rank = b.shape->size();
    auto* sizes = static_cast<std::int64_t*>(message(2 * rank * sizeof(std::int64_t)));
    if (sizes == nullptr) return false;
    std::copy(b.shape->begin(), b.shape->end(), sizes);
    std::copy(b.strided->strides.begin(), b.strided->strides.end(), sizes + rank);
    wire = {b.window.place.address + b.data, offset(sizes), info(b.dtype).dlpack,
            static_cast<std::int32_t>(rank)};
    return true;
  };
  const Buffer* shared = nullptr;
  std::size_t outputs = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    wire_buffers[i] = {b.window.place.file, b.window.place.address, b.window.bytes, b.window.number,
                       b.writable};
    if (b.argument >= 0 && b.output >= 0) shared = &b;
    if (b.argument < 0) ++outputs;
  }
  // Inputs, then outputs: the shared one first among these.
  std::size_t next = 0;
  bool fits = true;
  for (const Buffer& b : buffers)
    if (b.argument >= 0) fits = fits && tensor(tensors[next++], b);
  if (shared != nullptr) fits = fits && tensor(tensors[next++], *shared);
  for (const Buffer& b : buffers)
    if (b.argument < 0) fits = fits && tensor(tensors[next++], b);
  if (!fits) return std::nullopt;

  std::uint64_t next_tensor = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const assay_value& v = arguments[i];
    WireValue& wire = values[i];
    wire = {v.kind, v.count, 0};
    const auto copied = [&](const void* from, std::size_t n) {
      void* to = message(n);
      if (to == nullptr) return false;
      if (n > 0) std::memcpy(to, from, n);
      wire.payload = offset(to);
      return true;
    };
    switch (v.kind) {
      case ASSAY_KIND_TENSOR:
        wire.payload = next_tensor++;
        break;
      case ASSAY_KIND_TENSORS: {
        auto* list = static_cast<std::uint64_t*>(message(v.count * sizeof(std::uint64_t)));
        if (list == nullptr) return std::nullopt;
        for (std::uint32_t k = 0; k < v.count; ++k)
          list[k] = v.as.tensors[k] == nullptr ? ~std::uint64_t{0} : next_tensor++;
        wire.payload = offset(list);
        break;
      }
      case ASSAY_KIND_DOUBLE:
        wire.payload = std::bit_cast<std::uint64_t>(v.as.real);
        break;
      case ASSAY_KIND_DTYPE:
        std::memcpy(&wire.payload, &v.as.dtype, sizeof(v.as.dtype));
        break;
      case ASSAY_KIND_STRING:
        if (!copied(v.as.string, std::strlen(v.as.string) + 1)) return std::nullopt;
        break;
      case ASSAY_KIND_INTS:
      case ASSAY_KIND_BOOLS:
        if (!copied(v.as.integers, v.count * sizeof(std::int64_t))) return std::nullopt;
        break;
      case ASSAY_KIND_DOUBLES:
        if (!copied(v.as.reals, v.count * sizeof(double))) return std::nullopt;
        break;
      default:
        wire.payload = static_cast<std::uint64_t>(v.as.integer);
    }
  }
  *entry = {prepared.kernel,
            after,
            static_cast<std::uint32_t>(buffers.size()),
            static_cast<std::uint32_t>(arguments.size()),
            static_cast<std::uint32_t>(tensor_count),
            static_cast<std::uint32_t>(outputs + (in_place ? 1 : 0)),
            offset(wire_buffers),
            offset(values),
            offset(tensors),
            repeats_at};
  return offset(entry);
}

}  // namespace assay

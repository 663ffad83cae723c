#include "mapped_tensors.h"

namespace assay::tensors {

void MappedTensors::add(const FileBytes& file, std::string name, Dtype dtype, Shape shape,
                        std::span<const std::byte> stored, Layout layout) {
  TensorFile::add(std::move(name), dtype, std::move(shape), stored.size());
  stored_.push_back({stored, layout, file.owner});
}

void MappedTensors::add_unsupported(std::string name, std::string reason) {
  unsupported_.push_back({std::move(name), std::move(reason)});
}

RecordedTensor MappedTensors::read(const TensorEntry& entry) const {
  const Stored& stored = stored_.at(entry.index);
  return with_memory({path(), entry.name}, entry.size,
                     [&] { return unpack(stored.bytes, entry.dtype, entry.shape, stored.layout); });
}

std::optional<std::span<const std::byte>> MappedTensors::view(const TensorEntry& entry) const {
  const Stored& stored = stored_.at(entry.index);
  if (!is_plain(stored.layout, entry.dtype, entry.shape)) return std::nullopt;
  return stored.bytes;
}

}  // namespace assay::tensors

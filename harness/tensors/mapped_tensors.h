// Tensors that lie uncompressed in bytes at hand.
#pragma once

#include <span>
#include <vector>

#include "layout.h"
#include "tensor_file.h"

namespace assay::tensors {

class MappedTensors : public TensorFile {
 public:
  explicit MappedTensors(std::string path) : TensorFile(std::move(path)) {}

  // `stored` lies in `file`, and has the bytes that dtype and shape need.
  void add(const FileBytes& file, std::string name, Dtype dtype, Shape shape,
           std::span<const std::byte> stored, Layout layout);
  void add_unsupported(std::string name, std::string reason);

  RecordedTensor read(const TensorEntry& entry) const override;
  std::optional<std::span<const std::byte>> view(const TensorEntry& entry) const override;

 private:
  struct Stored {
    std::span<const std::byte> bytes;
    Layout layout;
    std::shared_ptr<const void> owner;
  };
  std::vector<Stored> stored_;
};

}  // namespace assay::tensors

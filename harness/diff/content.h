// The bytes of a tensor in a file: where they lie there, if they can be looked at, else a copy.
#pragma once

#include "../tensors/tensor_file.h"
#include "compare.h"

namespace assay::diff {

class Content {
 public:
  // The file must outlive it.
  Content(const TensorFile& file, const TensorEntry& entry) : dtype_(entry.dtype) {
    if (const auto view = file.view(entry)) {
      bytes_ = *view;
      return;
    }
    copy_ = file.read(entry).data;
    bytes_ = copy_;
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  Elements elements() const { return {bytes_, dtype_}; }

 private:
  Dtype dtype_;
  std::vector<std::byte> copy_;
  std::span<const std::byte> bytes_;
};

}  // namespace assay::diff

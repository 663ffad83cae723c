// Files of one tensor whose format has no magic number: raw bytes, and ONNX's TensorProto.
#pragma once

#include <memory>
#include <string_view>

#include "tensor_file.h"

namespace assay::tensors {

// "raw:f32[2x3x4]@PATH"; "f32[]" has one element.
inline constexpr std::string_view kRawPrefix = "raw:";
// Throws RawSizeError, too.
std::unique_ptr<TensorFile> open_raw(std::string_view description);
// The same of bytes; `description` is what stands before the "@".
std::unique_ptr<TensorFile> open_raw(const FileBytes& file, std::string_view description);

// Throws FileError if these bytes are no TensorProto, or one that Assay cannot read.
std::unique_ptr<TensorFile> open_onnx(const FileBytes& file);

}  // namespace assay::tensors

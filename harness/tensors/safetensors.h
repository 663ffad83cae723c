// Files of safetensors (the format in the README of huggingface/safetensors): eight bytes with the length of a header,
// the header in JSON, and the data, little-endian and row-major, without gaps.
//
// dtypes: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U8 BOOL; tensors of others are unsupported. "__metadata__"
// is passed over.
#pragma once

#include <memory>

#include "tensor_file.h"

namespace assay::tensors {

// Whether the first bytes are a length that fits, and a "{".
bool looks_like_safetensors(const FileBytes& file);
std::unique_ptr<TensorFile> open_safetensors(const FileBytes& file);

}  // namespace assay::tensors

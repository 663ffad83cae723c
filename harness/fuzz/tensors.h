// What every reader of tensors must keep to, whatever the bytes.
#pragma once

#include <string_view>

#include "../tensors/tensor_file.h"

namespace assay::fuzz {

// Opens and reads all; false if that throws FileError, which must name the file.
bool read_all_tensors(std::unique_ptr<TensorFile> (*open)(FileBytes), std::string_view input);

}  // namespace assay::fuzz

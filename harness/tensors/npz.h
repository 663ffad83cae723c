// NumPy's .npz files: zip archives of .npy files, stored or deflated. libzip reads the archive.
//
// Opening reads the header of each entry; an entry is unpacked when it is read, and its checksum compared. An entry that
// claims to be larger than deflate could have packed into its bytes is damaged, so that no small file takes much memory.
#pragma once

#include <memory>

#include "tensor_file.h"

namespace assay::tensors {

bool looks_like_zip(const FileBytes& file);
std::unique_ptr<TensorFile> open_npz(FileBytes file);

}  // namespace assay::tensors

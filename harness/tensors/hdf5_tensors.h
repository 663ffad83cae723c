// All datasets of numbers in an HDF5 file, whoever wrote it, at any depth: contiguous, compact or in chunks.
//
// dtypes: IEEE floats of 64, 32 and 16 bits, integers of 64, 32, 16 and 8 bits, u8, of either byte order, and booleans
// as h5py writes them (an enumeration of FALSE and TRUE). An attribute `dtype`, as in Assay's case files, says more:
// bf16 in integers of 16 bits, f8 and bool in u8. Other datasets, and links that lead elsewhere, are unsupported.
//
// Only the newer file format (libver="latest" in h5py) has checksums. Of a damaged file in the older one, HDF5 may give
// other numbers, or crash; case files, which must not, are read by files/case_file.h.
#pragma once

#include <memory>

#include "tensor_file.h"

namespace assay::tensors {

// Whether the file begins with HDF5's signature, or has it after a block of the user's.
bool looks_like_hdf5(const FileBytes& file);
// HDF5 opens the file by its name, so that it reads no more than it needs.
std::unique_ptr<TensorFile> open_hdf5(FileBytes file);

}  // namespace assay::tensors

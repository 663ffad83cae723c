// NumPy's .npy files, versions 1.0, 2.0 and 3.0 (numpy.lib.format's documentation; NEP 1).
//
// dtypes: f2 f4 f8 i1 i2 i4 i8 u1 b1, of either byte order and either order of elements. What ml_dtypes gives NumPy has
// no name of its own there: bfloat16 is saved as '<V2', and float8_e5m2 as '<f1', which are read as these; the name
// alone ('bfloat16', 'float8_e4m3fn'), which some programs write as descr, is understood too. '<V1' may be one of many
// formats of 8 bits and is unsupported, as is all else.
#pragma once

#include <memory>
#include <span>

#include "layout.h"
#include "tensor_file.h"

namespace assay::tensors {

// What stands in front of the data.
struct NpyHeader {
  Dtype dtype = Dtype::f32;
  Shape shape;
  Layout layout;
  std::size_t begin = 0;  // of the data, in bytes from the start
  std::size_t size = 0;   // of the data, in bytes
};

inline constexpr std::string_view kNpyMagic("\x93NUMPY", 6);
// NumPy itself reads headers up to 10,000 bytes unless told otherwise; this is far from where memory matters.
inline constexpr std::size_t kMostNpyHeader = std::size_t{1} << 20;

// How many bytes stand in front of the data, going by the first kNpyPrefix of them; never more than kMostNpyHeader.
inline constexpr std::size_t kNpyPrefix = 12;
std::size_t npy_header_bytes(std::span<const std::byte> prefix);

// Of the first npy_header_bytes() of a file of `total` bytes, or of more. Throws FileError if that is no header,
// or if it needs other than `total` bytes; Unsupported.
NpyHeader read_npy_header(std::span<const std::byte> first, std::size_t total, const Place& place);

std::unique_ptr<TensorFile> open_npy(const FileBytes& file);

}  // namespace assay::tensors

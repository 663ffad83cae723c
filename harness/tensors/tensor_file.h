// Tensors in files that others wrote: one interface for all formats.
//
//   format            told by                                entries are named
//   .npy              "\x93NUMPY"                            by the file's stem
//   .npz              a zip archive                          as in the archive, without ".npy"
//   safetensors       its header's length, and a "{"         as in the header
//   HDF5              its signature                          by their path, "calls/0/inputs/self" of a case file
//   ONNX TensorProto  none of these, and it can be read      as in the message, or else by the file's stem
//   a folder          being one                              by the stems of its *.npy; other files are not looked at
//   raw:DTYPE[SHAPE]@PATH   "raw:f32[2x3x4]@weights.bin", "raw:bf16[]@one.bin": bytes that say neither dtype nor
//                     shape. Row-major, little-endian, nothing before or after. "./raw:x" is a path.
//
// Files are mapped, not read: they must not be cut short while they are looked at. One thread at a time for a file.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../files/case_file.h"
#include "mapped_file.h"

namespace assay {

struct TensorEntry {
  std::string name;
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::size_t size = 0;   // of all elements, in bytes
  std::size_t index = 0;  // its place in entries()
};

// A tensor that is well-formed, but that Assay cannot read: complex numbers, texts, integers it has no dtype for.
struct UnsupportedEntry {
  std::string name;
  std::string reason;  // a whole message, with the names of file and tensor
};

// Of "raw:..", where the file has another size than the shape says. What it has may say why.
struct RawSizeError : FileError {
  RawSizeError(const std::string& what, Dtype of, Shape said, FileBytes there)
      : FileError(what), dtype(of), shape(std::move(said)), file(std::move(there)) {}
  Dtype dtype;
  Shape shape;
  FileBytes file;
};

class TensorFile {
 public:
  virtual ~TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<TensorEntry>& entries() const { return entries_; }  // in the file's order; names differ
  // Of a file of one tensor, that is an error when the file is opened.
  const std::vector<UnsupportedEntry>& unsupported() const { return unsupported_; }
  // Throws FileError if there is none of that name, or says why it is unsupported.
  const TensorEntry& entry(std::string_view name) const;

  // Packed, row-major, in native byte order; every bit of NaN is kept, and every byte of a bool. Takes memory for
  // this tensor (and, of a compressed one, for no second copy). Throws FileError that names file, tensor and field.
  // Precondition of both: the entry is one of entries().
  virtual RecordedTensor read(const TensorEntry& entry) const = 0;
  // The same bytes as they lie in the file, for as long as this object lives, with any alignment; nothing if they lie
  // there in another way: compressed, in chunks, big-endian, in Fortran's order.
  virtual std::optional<std::span<const std::byte>> view(const TensorEntry&) const { return std::nullopt; }

 protected:
  explicit TensorFile(std::string path) : path_(std::move(path)) {}
  void add(std::string name, Dtype dtype, Shape shape, std::size_t size);

  std::vector<UnsupportedEntry> unsupported_;

 private:
  std::string path_;
  std::vector<TensorEntry> entries_;
};

// A path, or "raw:..". Throws FileError that names the file and what is wrong: no file, no format that is known, or
// headers that are damaged. "-" is standard input.
std::unique_ptr<TensorFile> open_tensors(const std::string& path);
// The same, or one tensor of it: "all.npz:conv1", "case.h5:calls/0/inputs/self". Then the file has that tensor alone. A path that
// there is, colon and all, is a path.
std::unique_ptr<TensorFile> open_tensors_at(const std::string& place);
// The same of bytes, which may be of any format but HDF5.
std::unique_ptr<TensorFile> open_tensors(FileBytes file);

}  // namespace assay

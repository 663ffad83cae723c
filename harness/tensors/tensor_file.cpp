#include "tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "hdf5_tensors.h"
#include "mapped_tensors.h"
#include "npy.h"
#include "npz.h"
#include "safetensors.h"
#include "single.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoFormat =
    "its bytes are those of no .npy, .npz, safetensors, HDF5 file or TensorProto of ONNX; raw bytes can be given as "
    "raw:DTYPE[SHAPE]@PATH";

std::unique_ptr<TensorFile> open_folder(const std::string& path) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".npy") files.push_back(at->path());
  if (error) throw FileError(fmt::format("cannot read the folder {}: {}", path, error.message()));
  if (files.empty()) throw FileError(fmt::format("cannot read the folder {}: it has no .npy file", path));
  std::ranges::sort(files);
  auto tensors = std::make_unique<tensors::MappedTensors>(path);
  for (const fs::path& p : files) {
    const FileBytes file = map_file(p.string());
    const std::string stem = file.stem();
    try {
      const tensors::NpyHeader h = tensors::read_npy_header(file.bytes, file.bytes.size(), {file.name, stem});
      tensors->add(file, stem, h.dtype, h.shape, file.bytes.subspan(h.begin, h.size), h.layout);
    } catch (const tensors::Unsupported& e) {
      tensors->add_unsupported(stem, e.what());
    }
  }
  return tensors;
}

// One tensor of another file.
class Picked : public TensorFile {
 public:
  Picked(std::unique_ptr<TensorFile> file, std::string_view tensor)
      : TensorFile(fmt::format("{}:{}", file->path(), tensor)),
        file_(std::move(file)),
        entry_(file_->entry(tensor)) {
    add(entry_.name, entry_.dtype, entry_.shape, entry_.size);
  }
  RecordedTensor read(const TensorEntry&) const override { return file_->read(entry_); }
  std::optional<std::span<const std::byte>> view(const TensorEntry&) const override {
    return file_->view(entry_);
  }

 private:
  std::unique_ptr<TensorFile> file_;
  const TensorEntry& entry_;
};

// HDF5 wants a path: none, if the bytes are of no file.
std::unique_ptr<TensorFile> open_any(FileBytes file, bool is_path) {
  const tensors::Place whole{file.name, ""};
  if (file.bytes.empty()) whole.fail("it is empty");
  const std::string_view text = file.text();
  if (text.starts_with(tensors::kNpyMagic)) return tensors::open_npy(file);
  if (tensors::looks_like_zip(file)) return tensors::open_npz(std::move(file));
  if (tensors::looks_like_safetensors(file)) return tensors::open_safetensors(file);
  // Last of those with a signature, which may also stand after a block of anything.
  if (tensors::looks_like_hdf5(file)) {
    if (is_path) return tensors::open_hdf5(std::move(file));
    whole.fail("HDF5 is read from files only; save it under a name");
  }
  try {
    return tensors::open_onnx(file);
  } catch (const FileError& e) {
    // Any bytes are a bad message of ONNX. A file that its name calls one is worth the details.
    if (fs::path(file.name).extension() == ".pb") throw;
  }
  whole.fail(std::string(kNoFormat));
}

}  // namespace

void TensorFile::add(std::string name, Dtype dtype, Shape shape, std::size_t size) {
  entries_.push_back({std::move(name), dtype, std::move(shape), size, entries_.size()});
}

const TensorEntry& TensorFile::entry(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &TensorEntry::name);
  if (found != entries_.end()) return *found;
  const auto known = std::ranges::find(unsupported_, name, &UnsupportedEntry::name);
  if (known != unsupported_.end()) throw FileError(known->reason);
  std::string there;
  constexpr std::size_t kMost = 10;
  for (std::size_t i = 0; i < std::min(entries_.size(), kMost); ++i)
    there += (i == 0 ? "" : ", ") + tensors::in_quotes(entries_[i].name);
  if (entries_.size() > kMost) there += fmt::format(" and {} more", entries_.size() - kMost);
  tensors::Place{path_, name}.fail("the file has none of this name, but " +
                                   (there.empty() ? "no tensor" : there));
}

std::unique_ptr<TensorFile> open_tensors(FileBytes file) { return open_any(std::move(file), false); }

std::unique_ptr<TensorFile> open_tensors_at(const std::string& place) {
  std::error_code error;
  const std::size_t colon = place.rfind(':');
  if (place.starts_with(tensors::kRawPrefix) || fs::exists(place, error) || colon == std::string::npos ||
      !fs::exists(place.substr(0, colon), error))
    return open_tensors(place);
  std::string_view tensor = std::string_view(place).substr(colon + 1);
  if (tensor.starts_with('/')) tensor.remove_prefix(1);
  if (tensor.empty())
    throw FileError(fmt::format("cannot read {}: no tensor is named after the colon", place));
  return std::make_unique<Picked>(open_tensors(place.substr(0, colon)), tensor);
}

std::unique_ptr<TensorFile> open_tensors(const std::string& path) {
  if (path.starts_with(tensors::kRawPrefix)) return tensors::open_raw(std::string_view(path));
  std::error_code error;
  if (path != "-" && fs::is_directory(path, error)) return open_folder(path);
  return open_any(map_file(path), path != "-");
}

}  // namespace assay

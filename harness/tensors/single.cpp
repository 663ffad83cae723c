#include "single.h"

#include <fmt/format.h>

#include <charconv>

#include "../onnx/model.h"
#include "../onnx/protobuf.h"
#include "mapped_tensors.h"

namespace assay::tensors {
namespace {

[[noreturn]] void malformed(std::string_view description, const std::string& what) {
  throw FileError(
      fmt::format("cannot read {}: {}; write raw:DTYPE[SHAPE]@PATH, such as raw:f32[2x3x4]@weights.bin",
                  in_quotes(description), what));
}

Shape parse_sizes(std::string_view sizes, std::string_view description) {
  Shape shape;
  if (sizes.empty()) return shape;
  const char *at = sizes.data(), *const end = at + sizes.size();
  for (;;) {
    std::int64_t n = 0;
    const auto [stop, error] = std::from_chars(at, end, n);
    if (error != std::errc{} || n < 0 || (stop != end && *stop != 'x'))
      malformed(description, fmt::format("its shape is {}", in_quotes(sizes)));
    shape.push_back(n);
    if (stop == end) return shape;
    at = stop + 1;
  }
}

// The name that a TensorProto has, field 8; empty if none.
std::string name_in(std::string_view bytes) {
  constexpr std::uint32_t kName = 8;
  std::string name;
  onnx::Message fields(bytes);
  while (const std::optional<onnx::Field> f = fields.next())
    if (f->number == kName) name = f->bytes();
  return name;
}

class OneTensor : public TensorFile {
 public:
  OneTensor(const FileBytes& file, std::string name, RecordedTensor tensor)
      : TensorFile(file.name), tensor_(std::move(tensor)) {
    add(std::move(name), tensor_.dtype, tensor_.shape, tensor_.data.size());
  }
  RecordedTensor read(const TensorEntry& entry) const override {
    return with_memory({path(), entry.name}, entry.size, [&] { return tensor_; });
  }
  std::optional<std::span<const std::byte>> view(const TensorEntry&) const override { return tensor_.data; }

 private:
  RecordedTensor tensor_;
};

}  // namespace

std::unique_ptr<TensorFile> open_raw(std::string_view description) {
  // The first: paths may have one too.
  const std::size_t at = description.find('@');
  if (at == std::string_view::npos || at + 1 == description.size())
    malformed(description, "it names no file");
  return open_raw(map_file(std::string(description.substr(at + 1))), description.substr(0, at));
}

std::unique_ptr<TensorFile> open_raw(const FileBytes& file, std::string_view description) {
  std::string_view rest = description;
  if (rest.starts_with(kRawPrefix)) rest.remove_prefix(kRawPrefix.size());
  const std::size_t bracket = rest.find('[');
  if (bracket == std::string_view::npos || !rest.ends_with(']')) malformed(description, "it has no shape");
  const std::optional<Dtype> dtype = dtype_named(rest.substr(0, bracket));
  if (!dtype) malformed(description, fmt::format("its dtype is {}", in_quotes(rest.substr(0, bracket))));
  Shape shape = parse_sizes(rest.substr(bracket + 1, rest.size() - bracket - 2), description);
  const std::string stem = file.stem();
  const Place place{file.name, stem};
  const std::size_t needed = byte_count(shape, *dtype, place, "shape");
  if (needed != file.bytes.size()) {
    const std::string what = fmt::format("shape [{}] of {} needs {} bytes, and the file has {}", text(shape),
                                         name(*dtype), needed, file.bytes.size());
    try {
      place.fail(what);
    } catch (const FileError& e) {
      throw RawSizeError(e.what(), *dtype, std::move(shape), file);
    }
  }
  auto tensors = std::make_unique<MappedTensors>(file.name);
  tensors->add(file, stem, *dtype, std::move(shape), file.bytes, {});
  return tensors;
}

std::unique_ptr<TensorFile> open_onnx(const FileBytes& file) {
  const std::string stem = file.stem();
  const Place place{file.name, stem};
  try {
    std::string name = name_in(file.text());
    RecordedTensor tensor =
        with_memory(place, file.bytes.size(), [&] { return onnx::read_tensor(file.text()); });
    byte_count(tensor.shape, tensor.dtype, place, "dims");
    return std::make_unique<OneTensor>(file, name.empty() ? stem : std::move(name), std::move(tensor));
  } catch (const onnx::ProtobufError& e) {
    place.fail(fmt::format("it is no TensorProto of ONNX: {}", e.what()));
  } catch (const onnx::Unsupported& e) {
    place.unsupported(fmt::format("as a TensorProto of ONNX: {}", e.what()));
  }
}

}  // namespace assay::tensors

// Models and tensors of ONNX: read_model() and read_tensor() throw ProtobufError or Unsupported, or give tensors whose
// data have the size of their shape.
#include "../onnx/model.h"

#include "../onnx/protobuf.h"
#include "target.h"

namespace assay::fuzz {
namespace {

// A field of wire type 2 or 0; lengths and numbers below 128.
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
}
std::string field(int number, int value) {
  return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
}

std::vector<std::string> seeds() {
  const std::string raw = field(1, 2) + field(2, 1) + field(8, "W") + field(9, std::string(8, '\x3f'));
  const std::string packed = field(1, "\x03") + field(2, 7) + field(7, "\x01\x02\x03");
  const std::string bits = field(1, 2) + field(2, 10) + field(5, "\x01\x02");
  const std::string attribute = field(1, "axes") + field(8, "\x01\x02");
  const std::string node = field(1, "x") + field(2, "y") + field(4, "Relu") + field(5, attribute);
  const std::string value = field(1, "x") + field(2, field(1, field(1, 1)));
  const std::string graph = field(1, node) + field(5, raw) + field(11, value) + field(12, value);
  return {raw, packed, bits, field(7, graph) + field(8, field(2, 16))};
}

void check(const RecordedTensor& t) {
  double size = bytes(t.dtype);
  for (const std::int64_t n : t.shape) size *= static_cast<double>(n);
  if (size != static_cast<double>(t.data.size())) broken("a tensor has data of another size than its shape");
}

template <class Read>
bool taken(const Read& read) {
  try {
    read();
    return true;
  } catch (const onnx::ProtobufError&) {
  } catch (const onnx::Unsupported&) {
  }
  return false;
}

bool run(std::string_view input) {
  const bool tensor = taken([&] { check(onnx::read_tensor(input)); });
  const bool model = taken([&] {
    for (const auto& [name, initializer] : onnx::read_model(input).initializers) check(initializer);
  });
  return tensor || model;
}

}  // namespace

const Target kOnnx{"onnx", seeds, run};

}  // namespace assay::fuzz

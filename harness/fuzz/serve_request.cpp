// Requests of `assay serve`, up to the call that they speak of: parse_request() and operands_of() throw RequestError, or give a call whose
// tensors lie in the memory of the request.
#include "../serve/request.h"

#include <algorithm>

#include "../serve/operands.h"
#include "operators.h"
#include "target.h"
#include "vocabulary/operators.h"

namespace assay::fuzz {
namespace {

constexpr std::uint64_t kMemory =
    256;  // bytes that come with each request: so large calls are of strides 0 alone

std::string tensor(std::string_view shape, std::string_view more = "") {
  return R"({"tensor": {"dtype": "f32", "shape": )" + std::string(shape) + std::string(more) + "}}";
}

std::vector<std::string> seeds() {
  const std::string x = tensor("[2, 3, 4]"), row = tensor("[3]", R"(, "offset": 96)");
  return {
      R"({"do": "judge", "op": "toy", "arguments": [)" + x + ", " + row +
          R"(], "keywords": {"alpha": 2.5, "stride": 3, "mode": "sum",
        "dtype": {"dtype": "bf16"}, "memory_format": {"format": "channels_last"}, "scales": [1, 0.5], "mask": [true, false, true]},
        "results": [)" +
          x + R"(], "sample": "all", "first": 3, "seconds": 0.5, "contract": "exp=2ulp"})",
      R"({"do": "bounds", "op": "add.Tensor", "arguments": [)" + x + R"(, 0.1], "keywords": {"alpha": 0.5}})",
      R"({"do": "diagnose", "op": "addmm", "arguments": [)" + tensor("[2, 1]") + ", " +
          tensor("[2, 3]", R"(, "strides": [1, 2])") + ", " + tensor("[3, 0]") + R"(], "results": [null]})",
      R"({"do": "judge", "op": "embedding", "arguments": [)" + tensor("[4, 3]") +
          R"(, {"tensor": {"dtype": "i64", "shape": [2], "strides": [0], "offset": 64}}]})",
      R"({"do": "judge", "op": "toy_joined", "arguments": [[)" + x + ", " + x + "], [" + row + "]]}",
      R"({"do": "judge", "op": "convolution", "arguments": [)" +
          tensor("[1, 1, 4, 4]", R"(, "strides": [0, 0, 0, 1])") + ", " + tensor("[2, 1, 3, 3]") +
          R"(, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1]})",
      R"({"do": "judge", "op": "clamp", "arguments": [)" + tensor("[100, 100]", R"(, "strides": [0, 0])") +
          R"(, -1, null]})",
      R"({"do": "operators", "op": "sum"})",
      R"({"do": "diff", "results": [)" + x + ", " + row + "]}"};
}

void check(const serve::Operands& operands) {
  const Call& call = operands.call;
  if (!call.error.empty() || call.outputs.size() != call.op->schema.result_count)
    broken("a call that is not allowed");
  if (call.arguments.size() != call.op->schema.argument_count) broken("not one value for each argument");
  const auto look_at = [](const TensorData& t) {
    const auto size = static_cast<std::size_t>(t.strided.offset + t.strided.span) *
                      static_cast<std::size_t>(bytes(t.dtype));
    if (t.memory.size() != size) broken("a tensor has other memory than its layout");
    if (t.memory.size() > std::max<std::size_t>(kMemory, static_cast<std::size_t>(t.numel()) * 8))
      broken("more than came was read");
    if (t.numel() > 0) t.element(t.numel() - 1);
  };
  for (const CallValue& v : call.arguments) {
    if (const auto* t = std::get_if<TensorData>(&v)) look_at(*t);
    if (const auto* list = std::get_if<std::vector<TensorData>>(&v)) std::ranges::for_each(*list, look_at);
  }
  if (!operands.misfit.empty()) return;
  for (std::size_t o = 0; o < operands.results.size(); ++o)
    if (const auto& r = operands.results[o];
        r && r->size() != static_cast<std::size_t>(numel(call.outputs[o].shape)) *
                              static_cast<std::size_t>(bytes(call.outputs[o].dtype)))
      broken("a result has another size than the operator gives");
}

bool run(std::string_view input) {
  enrol_operators();
  try {
    const serve::Request request = serve::parse_request(input, kMemory);
    if (request.asked == serve::Asked::diff ||
        (request.asked == serve::Asked::operators && request.op.empty()))
      return true;
    if (!request.graph.empty()) return false;  // target graph_text reads those
    const Operator& op = serve::operator_of(request);
    if (request.asked == serve::Asked::operators) return true;
    check(serve::operands_of(op, request, 0, [](std::uint64_t offset, std::span<std::byte> into) {
      if (offset > kMemory || into.size() > kMemory - offset) broken("what lies outside the memory was read");
      std::ranges::fill(into, std::byte{0});
    }));
  } catch (const serve::RequestError& e) {
    if (std::string_view(e.what()).empty() || e.kind.empty()) broken("an error without words");
    return false;
  }
  return true;
}

}  // namespace

const Target kServeRequest{"serve_request", seeds, run};

}  // namespace assay::fuzz

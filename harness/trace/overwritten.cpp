#include "overwritten.h"

#include <cstring>
#include <vector>

#include "../diff/compare.h"
#include "../files/tensor_data.h"
#include "../judge/expectation.h"
#include "../verify/recorded.h"
#include "another.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

// Whether each of these elements is nearly what stands there.
bool explains(const TensorData& left, const KnownResult& came, const diff::Mask& diverging) {
  const double scale = largest_of(left);
  for (std::int64_t i = 0; i < left.numel(); ++i) {
    const auto e = static_cast<std::size_t>(i);
    if (diverging[e] &&
        !is_nearly(came.data.get(i), left.get(i), scale, came.within.empty() ? 0 : 2 * came.within[e]))
      return false;
  }
  return true;
}

// What the reference gives where this stands for the argument that the call writes over.
std::optional<TensorData> as_computed(const RecordedCall& writer, const std::string& output,
                                      const std::string& memory, const TensorData& before) {
  if (find_operator(writer.op) == nullptr) return std::nullopt;
  Call call = replayable(writer).call;
  if (!call.error.empty()) return std::nullopt;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    auto* t = std::get_if<TensorData>(&call.arguments[i]);
    const std::string argument(call.op->schema.argument_storage[i].name);
    if (t == nullptr || note_of(writer, "from." + argument) != memory) continue;
    if (t->shape != before.shape || t->dtype != before.dtype) return std::nullopt;
    *t = before;
  }
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    if (output_name(*call.op, o) != output) continue;
    TensorData result(call.outputs[o].dtype, call.outputs[o].shape);
    result.memory = Expectation(call).rounded(static_cast<int>(o));
    return result;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> overwritten_by(const CaseFile& trace, const Dump& dump, std::size_t call,
                                          const std::string& output, diagnose::Evidence& evidence,
                                          const KnownResult& came) {
  int number = 0;
  while (output_name(*evidence.call().op, static_cast<std::size_t>(number)) != output) ++number;
  const diff::Mask& diverging = evidence.mask(number);
  TensorData left(came.data.dtype, came.data.shape);
  left.memory = evidence.expectation().rounded(number);
  std::string memory = std::to_string(call) + ":" + output;
  for (std::size_t k = call + 1; k < trace.calls.size(); ++k) {
    const RecordedCall& writer = trace.calls[k];
    for (const auto& [written, o] : writer.outputs) {
      if (!o.actual) continue;
      const bool all = note_of(writer, "over." + written) == memory;
      const auto part = parse_origin(note_of(writer, "onto." + written));
      const bool some = part && std::to_string(part->call) + ":" + part->result == memory;
      if (!all && !some) continue;
      std::vector<TensorData> candidates;
      if (const auto dumped = dump.result(k, written))
        if (auto same = exactly_as(dump.peek(dumped->name), left.dtype))
          candidates.push_back(std::move(*same));
      if (auto own = all ? as_computed(writer, written, memory, left) : std::nullopt)
        candidates.push_back(std::move(*own));
      candidates.push_back(tensor_of(*o.actual));
      std::optional<TensorData> first;
      for (const TensorData& wrote : candidates) {
        if (wrote.dtype != left.dtype || wrote.shape != o.actual->shape) continue;
        TensorData after = left;
        if (all && wrote.numel() == left.numel())
          after.memory = wrote.memory;
        else if (all ||
                 !for_each_place(*part, wrote.shape, left.numel(), [&](std::int64_t i, std::int64_t at) {
                   std::memcpy(after.element(at), wrote.element(i),
                               static_cast<std::size_t>(bytes(left.dtype)));
                 }))
          continue;
        if (explains(after, came, diverging)) return name_of(trace, k);
        if (!first) first = std::move(after);
      }
      if (!first) return std::nullopt;
      left = std::move(*first);
      if (all) memory = std::to_string(k) + ":" + written;
    }
  }
  return std::nullopt;
}

}  // namespace assay

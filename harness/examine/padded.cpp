#include "padded.h"

#include "../generate/tensor_copy.h"

namespace assay {
namespace {

constexpr std::int64_t kRow =
    64;  // elements: a line of any cache in every dtype, and more than any vector has

bool has_rows(const TensorData& t) { return t.shape.size() >= 2 && t.numel() > 0; }

Layout padded(const Shape& shape) {
  Layout layout{Layout::Kind::strides, std::vector<std::int64_t>(shape.size(), 1)};
  std::int64_t stride = (shape.back() / kRow + 1) * kRow;
  for (std::size_t d = shape.size() - 1; d-- > 0;) {
    layout.parameters[d] = stride;
    stride *= shape[d];
  }
  return layout;
}

}  // namespace

std::optional<Call> with_padded_rows(const Call& call) {
  bool changed = false;
  for (const CallValue& v : call.arguments)
    if (const auto* t = std::get_if<TensorData>(&v)) changed = changed || has_rows(*t);
  if (!changed || call.in_place >= 0 || call.outputs.empty()) return std::nullopt;
  Call other = call;
  for (CallValue& v : other.arguments)
    if (auto* t = std::get_if<TensorData>(&v); t != nullptr && has_rows(*t))
      *t = laid_out(*t, padded(t->shape));
  other.output_layouts.assign(call.outputs.size(), Layout{});
  const Checked checked = check_arguments(*other.op, Arguments(other).values());
  if (!checked.ok() || checked.outputs.size() != call.outputs.size()) return std::nullopt;
  return other;
}

}  // namespace assay

#include "recurrent_weights.h"

#include <algorithm>
#include <cstring>

#include "node_kinds.h"

namespace assay {
namespace {

constexpr std::size_t kW = 1, kR = 2, kB = 3;  // inputs of the node
constexpr const char* kReverse = "_reverse";
constexpr const char* const kLayouts[] = {"steps_first", "batch_first"};

// Where the gates lie in ONNX's order (iofc; zrh), for each of PyTorch's (ifgo; rzn).
std::vector<std::int64_t> gates_of(const EngineNode& node) {
  if (fit_of("lstm", node.op) == Fit::yes) return {0, 2, 3, 1};
  if (fit_of("gru", node.op) == Fit::yes) return {1, 0, 2};
  return node.op == "RNN" ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>();
}

}  // namespace

RecurrentWeights::RecurrentWeights(const TensorFile& file, const EngineNodes& nodes) : TensorFile(file.path()), file_(file) {
  unsupported_ = file.unsupported();
  for (const TensorEntry& e : file.entries()) add(e.name, e.dtype, e.shape, e.size);
  for (const EngineNode& node : nodes.nodes) add_parts(node);
}

const TensorEntry* RecurrentWeights::find(const std::string& name) const {
  const auto found = std::ranges::find(file_.entries(), name, &TensorEntry::name);
  return found == file_.entries().end() ? nullptr : &*found;
}

std::string RecurrentWeights::name_of(const EngineNode& node, const std::string& argument) {
  const std::size_t input = argument.starts_with("weight_ih") ? kW : argument.starts_with("weight_hh") ? kR : kB;
  return input < node.inputs.size() && !node.inputs[input].empty() ? node.inputs[input] + ":" + argument : std::string();
}

void RecurrentWeights::add_parts(const EngineNode& node) {
  const std::vector<std::int64_t> order = gates_of(node);
  const auto gates = static_cast<std::int64_t>(order.size());
  if (gates == 0 || node.inputs.size() <= kR) return;
  const TensorEntry *w = find(node.inputs[kW]), *r = find(node.inputs[kR]),
                    *b = node.inputs.size() > kB ? find(node.inputs[kB]) : nullptr;
  if (w == nullptr || r == nullptr || w->shape.size() != 3 || r->shape.size() != 3 || w->shape[1] % gates != 0 ||
      w->shape[0] != r->shape[0] || w->shape[1] != r->shape[1])
    return;
  if (const TensorEntry* y = node.outputs.empty() ? nullptr : find(node.outputs[0]); y != nullptr && y->shape.size() == 4) add_result(*y);
  const std::int64_t directions = w->shape[0], rows = w->shape[1], hidden = rows / gates;
  if (b != nullptr && b->shape != Shape{directions, 2 * rows}) b = nullptr;
  for (std::int64_t d = 0; d < std::min<std::int64_t>(directions, 2); ++d) {
    const std::string suffix = d == 0 ? "" : kReverse;
    const auto blocks = [&](std::int64_t first) {
      std::vector<std::int64_t> all;
      for (const std::int64_t gate : order) all.push_back(first + gate * hidden);
      return all;
    };
    add_part(*w, "weight_ih" + suffix, {w->name, blocks(d * rows), hidden, w->shape[2]}, {rows, w->shape[2]});
    add_part(*r, "weight_hh" + suffix, {r->name, blocks(d * rows), hidden, r->shape[2]}, {rows, r->shape[2]});
    if (b == nullptr) continue;
    add_part(*b, "bias_ih" + suffix, {b->name, blocks(2 * d * rows), hidden, 1}, {rows});
    add_part(*b, "bias_hh" + suffix, {b->name, blocks((2 * d + 1) * rows), hidden, 1}, {rows});
  }
}

void RecurrentWeights::add_result(const TensorEntry& y) {
  const std::int64_t steps = y.shape[0], batch = y.shape[2], hidden = y.shape[1] * y.shape[3];
  for (const char* const layout : kLayouts) {
    const bool batch_first = layout == kLayouts[1];
    Part part{.of = y.name, .blocks = {}, .rows = 1, .row_elements = y.shape[3], .is_result = true};
    for (std::int64_t a = 0; a < (batch_first ? batch : steps); ++a)
      for (std::int64_t b = 0; b < (batch_first ? steps : batch); ++b)
        for (std::int64_t d = 0; d < y.shape[1]; ++d)
          part.blocks.push_back(((batch_first ? b : a) * y.shape[1] + d) * batch + (batch_first ? a : b));
    add_part(y, layout, part, batch_first ? Shape{batch, steps, hidden} : Shape{steps, batch, hidden});
  }
}

std::string RecurrentWeights::engines_own(const std::string& name) {
  for (const std::string layout : kLayouts)
    if (name.ends_with(":" + layout)) return name.substr(0, name.size() - layout.size() - 1);
  return name;
}

// Two nodes may share a tensor.
void RecurrentWeights::add_part(const TensorEntry& of, const std::string& argument, const Part& part, const Shape& shape) {
  const std::string name = of.name + ":" + argument;
  if (!parts_.emplace(name, part).second) return;
  add(name, of.dtype, shape, static_cast<std::size_t>(numel(shape) * bytes(of.dtype)));
}

RecordedTensor RecurrentWeights::read(const TensorEntry& entry) const {
  const auto found = parts_.find(entry.name);
  if (found == parts_.end()) return file_.read(file_.entry(entry.name));
  const Part& part = found->second;
  const RecordedTensor whole = file_.read(file_.entry(part.of));
  RecordedTensor made{entry.dtype, entry.shape, {}};
  const auto row = static_cast<std::size_t>(part.row_elements * bytes(entry.dtype));
  for (const std::int64_t first : part.blocks) {
    const auto begin = whole.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * row);
    made.data.insert(made.data.end(), begin, begin + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(part.rows) * row));
  }
  return made;
}

std::optional<std::span<const std::byte>> RecurrentWeights::view(const TensorEntry& entry) const {
  return parts_.contains(entry.name) ? std::nullopt : file_.view(file_.entry(entry.name));
}

}  // namespace assay

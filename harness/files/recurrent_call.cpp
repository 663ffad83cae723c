#include "recurrent_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/recurrent.h"

namespace assay {
namespace {

std::optional<Cell> cell_of(std::string_view op) {
  for (const Cell cell : {Cell::lstm, Cell::gru, Cell::rnn_tanh, Cell::rnn_relu})
    if (op == fmt::format("{}.input", name_of(cell))) return cell;
  return std::nullopt;
}

// "true" of "batch_first" in "gru.input:input=f32[2x7x6],..,batch_first=true".
std::string_view word(std::string_view case_text, std::string_view argument) {
  const std::string key = fmt::format(",{}=", argument);
  const std::size_t at = case_text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = case_text.substr(at + key.size());
  return rest.substr(0, rest.find(','));
}

// What the recorder calls the arguments of the graph, in their order.
std::vector<std::string> recorded_names(const RecordedCall& call, Cell cell) {
  std::vector<std::string> names{"input", ""};
  if (cell == Cell::lstm)
    names.insert(names.end(), {"hx/0", "hx/1"});
  else
    names.emplace_back("hx");
  for (std::size_t n = 0; call.inputs.contains(fmt::format("params/{}", n)); ++n) names.push_back(fmt::format("params/{}", n));
  return names;
}

struct Layer {
  RecurrentLayer layer;
  std::vector<std::string> names;  // of the recorder, for each argument
};

std::optional<Layer> layer_of(const RecordedCall& call) {
  const std::optional<Cell> cell = cell_of(call.op);
  if (!cell || word(call.case_text, "num_layers") != "1") return std::nullopt;
  Layer found{{.cell = *cell}, recorded_names(call, *cell)};
  RecurrentLayer& l = found.layer;
  l.has_biases = word(call.case_text, "has_biases") == "true";
  l.both_directions = word(call.case_text, "bidirectional") == "true";
  l.batch_first = word(call.case_text, "batch_first") == "true";
  const auto shape = [&](const std::string& name) {
    const auto t = call.inputs.find(name);
    return t == call.inputs.end() ? Shape() : t->second.shape;
  };
  const Shape input = shape("input"), weight_ih = shape("params/0"), weight_hh = shape("params/1");
  if (input.size() != 3 || weight_ih.size() != 2 || weight_hh.size() != 2) return std::nullopt;
  l.batch = input[l.batch_first ? 0 : 1];
  l.steps = input[l.batch_first ? 1 : 0];
  l.inputs = input[2];
  l.hidden = weight_ih[0] / l.gates();
  if (weight_hh[1] != l.hidden) l.projected = weight_hh[1];
  if (std::min({l.batch, l.steps, l.inputs, l.hidden}) < 1 || 
      (l.cell == Cell::lstm && l.steps * (l.both_directions ? 2 : 1) > kMostSteps))
    return std::nullopt;
  return arguments_of(l).size() == found.names.size() ? std::optional(std::move(found)) : std::nullopt;
}

std::string noted(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

// An input, or its own first result where there is no name.
const RecordedTensor* recorded(const RecordedCall& call, const std::string& name) {
  if (name.empty()) {
    const auto own = call.outputs.find("out0");
    return own == call.outputs.end() || !own->second.actual ? nullptr : &*own->second.actual;
  }
  const auto t = call.inputs.find(name);
  return t == call.inputs.end() ? nullptr : &t->second;
}

const Operator& enrol(const RecurrentLayer& layer) {
  try {
    return enrol_recurrent(layer);
  } catch (const GraphError& e) {
    throw std::runtime_error(e.what());  // of the file
  }
}

}  // namespace

void read_as_graph(RecordedCall& call) {
  const std::optional<Layer> found = layer_of(call);
  if (!found) return;
  const Operator& op = enrol(found->layer);
  const std::vector<std::string> names = arguments_of(found->layer);
  RecordedCall renamed = call;
  renamed.inputs.clear();
  std::string words;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string &before = found->names[i], &now = names[i];
    const RecordedTensor* const t = recorded(call, before);
    if (t == nullptr) return;
    words += fmt::format("{}{}={}[{}]", words.empty() ? "" : ",", now, name(t->dtype), text(t->shape));
    renamed.inputs.emplace(now, *t);
    for (const std::string_view key : {"from.", "through.", "parameter.", "part.", "alias.", "state."}) {
      const auto note = call.notes.find(fmt::format("{}{}", key, noted(before)));
      if (note == call.notes.end()) continue;
      renamed.notes.erase(note->first);
      renamed.notes[fmt::format("{}{}", key, now)] = note->second;
    }
  }
  renamed.notes["layer"] = call.op;
  renamed.op = op.schema.name;
  renamed.case_text = fmt::format("{}:{}", op.schema.name, words);
  call = std::move(renamed);
}

}  // namespace assay

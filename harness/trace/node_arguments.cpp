#include "node_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "../files/tensor_data.h"
#include "dump.h"
#include "matching.h"
#include "node_kinds.h"
#include "origin.h"
#include "recurrent_weights.h"
#include "samples.h"

namespace assay {
namespace {

constexpr int kBack = 4;  // nodes
constexpr std::string_view kOfParameter = "parameter.", kOfResult = "from.", kOfUnrecorded = "through.";

bool is_only_or_first(const std::string& output) { return output == "out" || output == "out0"; }

class Givens {
 public:
  Givens(const CaseFile& trace, const TensorFile& dump, const EngineNodes& nodes,
         const std::map<std::size_t, std::size_t>& node_of_call, Matched& matched)
      : trace_(trace),
        nodes_(nodes),
        graph_(nodes),
        constants_(nodes, graph_, dump),
        node_of_call_(node_of_call),
        matched_(matched),
        inputs_(nodes.inputs.begin(), nodes.inputs.end()) {
    for (const TensorEntry& e : dump.entries()) entries_.emplace(e.name, e);
    read_ = [&dump](const TensorEntry& e) { return tensor_of(dump.read(e)); };
  }

  void match() {
    for (const EngineNode& node : nodes_.nodes)
      if (is_dequantizing(node.op) && node.inputs.size() > 1 && !node.outputs.empty())
        matched_.quantised[node.outputs[0]] = {in_dump(node.inputs[1]),
                                               node.inputs.size() > 2 ? in_dump(node.inputs[2]) : "",
                                               in_dump(node.inputs[0])};
    std::erase_if(matched_.quantised, [](const auto& q) { return q.second.scale.empty(); });
    for (const auto& [k, node] : std::map(node_of_call_)) begins_with(k, node);
    for (const auto& [k, node] : node_of_call_)
      for (const auto& [argument, input] : trace_.calls[k].inputs) {
        const std::string parameter = note_of(trace_.calls[k], std::string(kOfParameter) + argument);
        if (!parameter.empty())
          of_parameter(k, argument, parameter, node);
        else
          received(k, argument, input, nodes_.nodes[main_node(trace_.calls[k], node)]);
      }
    for (const auto& [k, node] : node_of_call_) folded_bias(trace_.calls[k], node);
  }

 private:
  std::string in_dump(const std::string& tensor) const { return entries_.contains(tensor) ? tensor : ""; }

  // A node that is several calls in one gives the result of the last one, and is given what the first one is: a convolution with its
  // batch norm and activation.
  void begins_with(std::size_t k, std::size_t node) {
    std::size_t first = k;
    for (int step = 0; step < kBack && fit_of(trace_.calls[first].op, nodes_.nodes[node].op) != Fit::yes; ++step) {
      std::optional<Origin> origin;
      for (const std::string_view argument : {"input", "self"})
        if (!origin) origin = parse_origin(note_of(trace_.calls[first], fmt::format("{}{}", kOfResult, argument)));
      if (!origin || origin->call >= first) return;
      first = origin->call;
    }
    if (first == k || fit_of(trace_.calls[first].op, nodes_.nodes[node].op) != Fit::yes) return;
    if (node_of_call_.try_emplace(first, node).second) node_of_call_.erase(k);
  }

  void of_parameter(std::size_t k, const std::string& argument, const std::string& parameter,
                    std::size_t at) {
    const EngineNode& node = nodes_.nodes[at];
    if (!note_of(trace_.calls[k], "layer").empty()) return of_recurrent(k, argument, parameter, at);
    if (entries_.contains(parameter) || matched_.names.contains(parameter) ||
        fit_of(trace_.calls[k].op, node.op) == Fit::no)
      return;
    const RecordedCall& call = trace_.calls[k];
    const TensorData recorded = tensor_of(call.inputs.at(argument));
    const Samples own(recorded);
    std::optional<Samples> turned;
    if (recorded.shape.size() == 2) turned.emplace(turned_around(recorded));
    const int place = input_of(call.op, argument, node.op);
    double most = 0;
    std::string best;
    for (const auto& [name, input] : constants_.of(at)) {
      const TensorEntry& entry = entries_.at(name);
      if (taken_.contains(name) || are_integers_of_another(name)) continue;
      const Samples numbers(read_(entry));
      if (numbers.numel() != own.numel()) continue;
      double points = own.alike(numbers).value_or(0);
      if (turned) points = std::max(points, turned->alike(numbers).value_or(0));
      if (entry.shape == recorded.shape) points += 0.3;
      if (place >= 0 && static_cast<std::size_t>(place) == input) points += 0.3;
      if (points <= most) continue;
      most = points;
      best = name;
    }
    if (best.empty()) return;
    matched_.names[parameter] = best;
    taken_.insert(best);
  }

  // Integers whose numbers the dump has, too.
  bool are_integers_of_another(const std::string& name) const {
    return std::ranges::any_of(matched_.quantised, [&](const auto& q) { return q.second.integers == name && entries_.contains(q.first); });
  }

  // A weight of a recurrent node, as PyTorch has it (recurrent_weights.h).
  void of_recurrent(std::size_t k, const std::string& argument, const std::string& parameter, std::size_t at) {
    const EngineNode* node = nullptr;
    for (const std::string& output : nodes_.nodes[at].outputs)
      for (const std::string& before : graph_.handed_on(output))
        if (const auto n = graph_.node_of(before); n && fit_of(trace_.calls[k].op, nodes_.nodes[*n].op) == Fit::yes) node = &nodes_.nodes[*n];
    if (node == nullptr) return;
    const std::string own = RecurrentWeights::name_of(*node, argument);
    if (own.empty() || !entries_.contains(own)) return;
    // Both biases of a gate are added: an engine may have the sum in one of them.
    if (const auto other = other_bias(argument); !other.empty()) {
      const auto theirs = entries_.find(RecurrentWeights::name_of(*node, other));
      const auto &inputs = trace_.calls[k].inputs;
      if (theirs == entries_.end() || !inputs.contains(other) ||
          have_same_sum(tensor_of(inputs.at(argument)), tensor_of(inputs.at(other)), read_(entries_.at(own)), read_(theirs->second)))
        return;
    }
    matched_.names[parameter] = own;
  }

  static std::string other_bias(const std::string& argument) {
    const std::size_t at = argument.find("bias_");
    if (at == std::string::npos) return {};
    std::string other = argument;
    other.replace(at + 5, 1, argument[at + 5] == 'i' ? "h" : "i");
    return other;
  }

  static bool have_same_sum(const TensorData& a, const TensorData& b, const TensorData& c, const TensorData& d) {
    if (a.numel() != c.numel() || b.numel() != d.numel() || a.numel() != b.numel()) return false;
    for (std::int64_t i = 0; i < a.numel(); ++i)
      if (static_cast<float>(a.get(i) + b.get(i)) != static_cast<float>(c.get(i) + d.get(i))) return false;
    return true;
  }

  // The product before the addition of a bias, whose result is a linear layer's.
  std::size_t main_node(const RecordedCall& call, std::size_t node) const {
    if (fit_of(call.op, nodes_.nodes[node].op) == Fit::yes) return node;
    for (const std::string& given : nodes_.nodes[node].inputs)
      if (const auto before = graph_.node_of(given);
          before && nodes_.nodes[*before].module == nodes_.nodes[node].module &&
          fit_of(call.op, nodes_.nodes[*before].op) != Fit::no && !hands_on(nodes_.nodes[*before].op))
        return *before;
    return node;
  }

  // A convolution's into which a batch norm is folded, which has none in the program.
  void folded_bias(const RecordedCall& call, std::size_t at) {
    const EngineNode& node = nodes_.nodes[at];
    const std::string weight = note_of(call, "parameter.weight");
    if (call.op != "convolution" || !weight.ends_with("weight") || call.inputs.contains("bias")) return;
    const std::string bias = weight.substr(0, weight.size() - 6) + "bias";
    if (entries_.contains(bias) || node.inputs.size() < 3) return;
    for (const auto& [name, input] : constants_.of(at))
      if (input == 2 && entries_.at(name).shape.size() == 1) matched_.names.try_emplace(bias, name);
  }

  // What a kernel was given, where the program gives another call's result or its own input.
  void received(std::size_t k, const std::string& argument, const RecordedTensor& input, const EngineNode& node) {
    const RecordedCall& call = trace_.calls[k];
    const int place = input_of(call.op, argument, node.op);
    if (place < 0 || static_cast<std::size_t>(place) >= node.inputs.size()) return;
    const std::string& given = node.inputs[static_cast<std::size_t>(place)];
    const std::vector<std::string> back = graph_.handed_on(given, true);
    const auto origin = parse_origin(note_of(call, std::string(kOfResult) + argument));
    const std::string name = call.name + ":" + argument;
    if (!origin) {
      if (!note_of(call, std::string(kOfUnrecorded) + argument).empty()) return;
      for (const std::string& tensor : back)
        if (inputs_.contains(tensor) && has_shape(given, input.shape)) {
          matched_.names[name] = given;
          matched_.edges.insert(given);
        }
      return;
    }
    // Another result, or the right one in another order: what computes in between is the engine's way of computing this call.
    if (matched_.quantised.contains(given) && has_shape(given, input.shape)) {
      matched_.names[name] = given;
      return;
    }
    const std::string expected = result_of(*origin);
    if (expected.empty() || given == expected || !has_shape(given, input.shape)) return;
    const bool is_result = results().contains(given), comes_from_it = std::ranges::find(back, RecurrentWeights::engines_own(expected)) != back.end();
    if (is_result || (comes_from_it && !is_rounded_on_the_way(back, expected))) matched_.names[name] = given;
  }

  // Quantised and back, or kept in fewer bits.
  bool is_rounded_on_the_way(const std::vector<std::string>& back, const std::string& expected) const {
    for (const std::string& tensor : back) {
      if (tensor == expected) return false;
      if (const auto node = graph_.node_of(tensor); node && rounds(nodes_.nodes[*node].op)) return true;
    }
    return false;
  }

  bool has_shape(const std::string& tensor, const Shape& shape) const {
    const auto found = entries_.find(tensor);
    return found != entries_.end() && found->second.shape == shape;
  }

  std::string result_of(const Origin& origin) const {
    if (origin.call >= trace_.calls.size()) return {};
    const std::string& call = trace_.calls[origin.call].name;
    const auto found = matched_.names.find(is_only_or_first(origin.result) ? call : call + ":" + origin.result);
    return found == matched_.names.end() ? std::string() : found->second;
  }

  const std::set<std::string>& results() {
    if (results_.empty())
      for (const auto& [name, tensor] : matched_.names)
        if (graph_.node_of(tensor)) results_.insert(tensor);
    return results_;
  }

  const CaseFile& trace_;
  const EngineNodes& nodes_;
  NodeGraph graph_;
  NodeConstants constants_;
  std::map<std::size_t, std::size_t> node_of_call_;
  Matched& matched_;
  const std::set<std::string> inputs_;
  std::map<std::string, TensorEntry> entries_;
  std::function<TensorData(const TensorEntry&)> read_;
  std::set<std::string> taken_, results_;
};

}  // namespace

NodeGraph::NodeGraph(const EngineNodes& nodes) : nodes_(nodes) {
  std::map<std::string, std::size_t> last;
  const std::set<std::string> given(nodes.inputs.begin(), nodes.inputs.end());
  for (std::size_t n = 0; n < nodes.nodes.size(); ++n) {
    for (const std::string& output : nodes.nodes[n].outputs)
      if (!output.empty()) node_of_[output] = n;
    last[nodes.nodes[n].module] = n;
  }
  // Files may have nodes before those whose results they take.
  for (std::size_t before = 1; before != following_.size();) {
    before = following_.size();
    for (const EngineNode& node : nodes.nodes)
      // Without inputs, whatever a node gives.
      if (given.empty() || std::ranges::any_of(node.inputs, [&](const std::string& t) { return given.contains(t) || following_.contains(t); }))
        following_.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const auto& [module, n] : last)
    if (!module.empty()) last_of_module_.insert(n);
}

std::optional<std::size_t> NodeGraph::node_of(const std::string& tensor) const {
  const auto found = node_of_.find(tensor);
  return found == node_of_.end() ? std::nullopt : std::optional(found->second);
}

std::set<std::string> NodeGraph::before(std::size_t node) const {
  std::set<std::string> all;
  std::vector<std::size_t> from{node};
  for (int step = 0; step < kBack && !from.empty(); ++step) {
    std::vector<std::size_t> next;
    for (const std::size_t n : from)
      for (const std::string& input : nodes_.nodes[n].inputs)
        if (!input.empty() && all.insert(input).second)
          if (const auto other = node_of(input)) next.push_back(*other);
    from = std::move(next);
  }
  return all;
}

int NodeGraph::steps_from(const std::string& tensor, std::size_t node) const {
  std::vector<std::size_t> from{node};
  for (int step = 1; step <= kBack; ++step) {
    std::vector<std::size_t> next;
    for (const std::size_t n : from)
      for (const std::string& input : nodes_.nodes[n].inputs) {
        if (input == tensor) return step;
        if (const auto other = node_of(input)) next.push_back(*other);
      }
    from = std::move(next);
  }
  return 0;
}

std::vector<std::string> NodeGraph::handed_on(const std::string& tensor, bool parts) const {
  std::vector<std::string> all{tensor};
  for (int step = 0; step < 2 * kBack; ++step) {
    const auto node = node_of(all.back());
    if (!node || !(hands_on(nodes_.nodes[*node].op) || (parts && takes_part(nodes_.nodes[*node].op))) || nodes_.nodes[*node].inputs.empty()) break;
    const std::string& before = nodes_.nodes[*node].inputs[0];
    if (before.empty() || std::ranges::find(all, before) != all.end()) break;
    all.push_back(before);
  }
  return all;
}

NodeConstants::NodeConstants(const EngineNodes& nodes, const NodeGraph& graph, const TensorFile& dump)
    : nodes_(nodes), graph_(graph), parameters_(nodes.parameters.begin(), nodes.parameters.end()) {
  for (const TensorEntry& e : dump.entries()) dumped_.insert(e.name);
}

void NodeConstants::add(const std::string& given, std::size_t input, std::vector<Constant>& all) const {
  const std::vector<std::string> back = graph_.handed_on(given);
  const bool constant = parameters_.contains(back.back());
  for (const std::string& tensor : back) {
    const auto node = graph_.node_of(tensor);
    const bool dequantised = constant && node && is_dequantizing(nodes_.nodes[*node].op);
    if (is_dumped(tensor) && (parameters_.contains(tensor) || dequantised)) all.push_back({tensor, input});
  }
}

std::vector<NodeConstants::Constant> NodeConstants::of(std::size_t at) const {
  const EngineNode& node = nodes_.nodes[at];
  std::vector<Constant> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) add(node.inputs[i], i, all);
  for (const std::string& given : node.inputs) {
    const auto before = graph_.node_of(given);
    if (!before || (!node.module.empty() && nodes_.nodes[*before].module != node.module)) continue;
    for (std::size_t i = 0; i < nodes_.nodes[*before].inputs.size(); ++i) add(nodes_.nodes[*before].inputs[i], i, all);
  }
  return all;
}

void match_arguments(const CaseFile& trace, const TensorFile& dump, const EngineNodes& nodes,
                     const std::map<std::size_t, std::size_t>& node_of_call, Matched& matched) {
  Givens(trace, dump, nodes, node_of_call, matched).match();
}

}  // namespace assay

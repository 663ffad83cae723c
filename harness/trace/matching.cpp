#include "matching.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "../files/tensor_data.h"
#include "dump.h"
#include "named_nodes.h"
#include "node_arguments.h"
#include "node_kinds.h"
#include "origin.h"
#include "recurrent_weights.h"
#include "samples.h"
#include "unknown_operator.h"

namespace assay {
namespace {

// What speaks for a pair, in points. Four belong together: a module and an operator, or numbers, or an operator with its neighbours.
constexpr double kAccepted = 4;
constexpr double kSameModule = 4, kAnotherModule = -3, kAgain = 3;
constexpr double kSameCall = 1, kSameName = 1;
constexpr double kFits = 2, kPart = 0.5, kAnotherKind = -3, kAnotherOfItsModule = -0.5, kHandsOn = -1;
constexpr double kSameNumbers = 5, kSomeNumbers = 2, kOtherNumbers = -0.5;
constexpr double kSameParameters = 3;
constexpr double kOnlyOne = 1.5;
constexpr double kMade = -4;
constexpr double kSameShape = 1, kOtherSize = -3;
constexpr double kOrder = 2, kNeighbours = 2, kReaders = 1.5;
constexpr int kRounds = 3;
constexpr double kMostOfThem = 0.9, kHalfOfThem = 0.5;

// "act" of "act_1", the second call of a module, as exporters number it.
std::string without_count(const std::string& module) {
  const std::size_t at = module.rfind('_');
  if (at == std::string::npos || at + 1 == module.size()) return module;
  return std::all_of(module.begin() + static_cast<std::ptrdiff_t>(at) + 1, module.end(),
                     [](char c) { return c >= '0' && c <= '9'; })
             ? module.substr(0, at)
             : module;
}

std::string module_path(const RecordedCall& call) {
  const std::size_t slash = call.name.rfind('/');
  return slash == std::string::npos ? std::string() : call.name.substr(0, slash);
}

// "conv2d" of "aten.conv2d.default", "convolution" of "convolution".
std::string base_name(std::string_view op) {
  if (op.starts_with("aten.")) op.remove_prefix(5);
  return std::string(op.substr(0, op.find('.')));
}

bool joins(std::string_view op) { return base_name(op) == "cat" || base_name(op) == "stack"; }

struct Result {
  std::size_t call;
  std::string output;
  std::string name;  // as a map has it: "norm/native_batch_norm", ":out1" after it for others than the first
  Samples numbers;
};

struct Tensor {
  std::string name;
  std::optional<std::size_t> node;
  Samples numbers;
};

struct Score {
  double points = 0;
  double module = 0, numbers = 0;
};

class Matcher {
 public:
  // Results of these names are none that are looked for.
  Matcher(const CaseFile& trace, const TensorFile& dump, const EngineNodes& nodes, const std::set<std::string>& found)
      : trace_(trace), nodes_(nodes), graph_(nodes) {
    const NodeConstants constants(nodes, graph_, dump);
    std::map<std::string, Samples> of_constants;
    constants_.resize(nodes.nodes.size());
    for (std::size_t n = 0; n < nodes.nodes.size(); ++n)
      for (const auto& [tensor, input] : constants.of(n)) {
        auto known = of_constants.find(tensor);
        if (known == of_constants.end())
          known = of_constants.emplace(tensor, tensor_of(dump.read(dump.entry(tensor)))).first;
        constants_[n].push_back(known->second);
      }
    for (const RecordedCall& call : trace.calls) parameters_.push_back(parameters_of(call));
    for (const EngineNode& node : nodes.nodes) ++nodes_of_[node.op];
    const std::set<std::string> parameters(nodes.parameters.begin(), nodes.parameters.end());
    const std::set<std::string> inputs(nodes.inputs.begin(), nodes.inputs.end());
    for (const TensorEntry& e : dump.entries())
      if (const std::string own = RecurrentWeights::engines_own(e.name);
          !parameters.contains(own) && !inputs.contains(own) && graph_.follows_from_inputs(own) &&
          !is_dequantizing(nodes.nodes[*graph_.node_of(own)].op))
        tensors_.push_back({e.name, graph_.node_of(own), Samples(tensor_of(dump.read(e)))});
    for (std::size_t k = 0; k < trace.calls.size(); ++k)
      for (const auto& [output, recorded] : trace.calls[k].outputs) {
        if (!recorded.actual || trace.calls[k].name.empty()) continue;
        const bool first = output == "out" || output == "out0";
        if (found.contains(trace.calls[k].name + (first ? "" : ":" + output))) continue;
        results_.push_back({k, output, trace.calls[k].name + (first ? "" : ":" + output),
                            Samples(tensor_of(*recorded.actual))});
      }
    for (std::size_t k = 0; k < trace.calls.size(); ++k) {
      ++calls_in_[module_path(trace.calls[k])];
      ++calls_of_[trace.calls[k].op];
      for (const auto& [key, value] : trace.calls[k].notes)
        if (const auto origin = key.starts_with("from.") ? parse_origin(value) : std::nullopt)
          readers_[{origin->call, origin->result}].push_back(k);
    }
  }

  Matched matched() {
    std::vector<std::vector<Score>> own(results_.size());
    for (std::size_t r = 0; r < results_.size(); ++r)
      for (const Tensor& t : tensors_) own[r].push_back(score(results_[r], t));
    for (int round = 0; round < kRounds; ++round) assign(own);
    Matched m;
    for (const auto& [r, t] : tensor_of_) {
      m.names[results_[r].name] = tensors_[t].name;
      const Score& s = own[r][t];
      (s.module > 0 ? m.by_module : s.numbers > 0 ? m.by_numbers : m.by_place) += 1;
    }
    return m;
  }

  // Of each call whose first result is matched: the node that gave it.
  std::map<std::size_t, std::size_t> nodes_of_calls() const {
    std::map<std::size_t, std::size_t> all;
    for (const auto& [r, t] : tensor_of_)
      if (tensors_[t].node) all.try_emplace(results_[r].call, *tensors_[t].node);
    return all;
  }

 private:
  Score score(const Result& r, const Tensor& t) const {
    const RecordedCall& call = trace_.calls[r.call];
    const EngineNode& node = nodes_.nodes[*t.node];
    Score s;
    if (r.numbers.is_float() != t.numbers.is_float()) return {-100};
    if (t.name != RecurrentWeights::engines_own(t.name) && note_of(call, "layer").empty()) return {-100};
    s.module = of_module(call, node);
    const Fit fit = fit_of_result(r, t);
    double kind = fit == Fit::yes ? kFits : fit == Fit::part ? kPart : fit == Fit::no ? kAnotherKind : 0;
    // A module that makes one call is that call, whatever the engine has put in its place.
    const bool last_of_module =
        s.module > 0 && calls_in_.at(module_path(call)) == 1 && graph_.is_last_of_module(*t.node);
    if (fit == Fit::no && last_of_module) kind = kAnotherOfItsModule;
    if (hands_on(node.op) && fit != Fit::yes) kind = kHandsOn;
    if (!note_of(call, "layer").empty() && fit == Fit::no) return {-100};
    if (!node.call.empty() && base_name(node.call) == base_name(call.op)) kind += kSameCall;
    if (t.name == r.name || t.name == module_path(call)) kind += kSameName;
    double shape = kOtherSize;
    if (r.numbers.numel() == t.numbers.numel()) {
      shape = r.numbers.shape() == t.numbers.shape() ? kSameShape : 0;
      s.numbers = of_numbers(r.numbers, t.numbers);
    } else if (s.module <= 0 || fit == Fit::no || r.name.find(':') != std::string::npos) {
      return {-100};
    }
    const double parameters = kSameParameters * of_parameters(r.call, *t.node);
    // A module that makes several calls says not which of them it is.
    if (kind <= 0 && s.numbers < kSomeNumbers && parameters == 0 && !last_of_module) return {-100};
    // Copies have often no node of their own, but others' move the same numbers: what one gives, its numbers must say.
    // One that joins tensors to a shape that no other has needs none.
    if (only_moves(call.op) && s.numbers < kSameNumbers && !(joins(call.op) && fit == Fit::yes && is_only_one_of_its_shape(r, t))) return {-100};
    const double apart = static_cast<double>(r.call) / static_cast<double>(trace_.calls.size()) -
                         static_cast<double>(*t.node) / static_cast<double>(nodes_.nodes.size());
    // Of the nodes that one call became, the last one has its result.
    const double last = last_of_module ? 1 : 0;
    const double alone = is_only_one(r, t) ? kOnlyOne : 0;
    // What the engine itself has in PyTorch's layout comes first.
    const double made = t.name != RecurrentWeights::engines_own(t.name) ? kMade : 0;
    s.points = made + s.module + kind + shape + s.numbers + parameters + last + alone - kOrder * std::fabs(apart);
    return s;
  }

  // Of recurrent layers engines' nodes have results with a dimension for the directions, which other nodes rearrange then.
  Fit fit_of_result(const Result& r, const Tensor& t) const {
    const RecordedCall& call = trace_.calls[r.call];
    const Fit own = fit_of(call.op, nodes_.nodes[*t.node].op);
    if (note_of(call, "layer").empty()) return own;
    if (r.numbers.shape() != t.numbers.shape()) return Fit::no;
    for (const std::string& before : graph_.handed_on(RecurrentWeights::engines_own(t.name)))
      if (const auto node = graph_.node_of(before); node && fit_of(call.op, nodes_.nodes[*node].op) == Fit::yes) return Fit::yes;
    return own;
  }

  // No other call is of its operator, and no other node of that one's.
  bool is_only_one(const Result& r, const Tensor& t) const {
    return calls_of_.at(trace_.calls[r.call].op) == 1 && nodes_of_.at(nodes_.nodes[*t.node].op) == 1 &&
           fit_of(trace_.calls[r.call].op, nodes_.nodes[*t.node].op) == Fit::yes;
  }

  bool is_only_one_of_its_shape(const Result& r, const Tensor& t) const {
    const std::string &op = trace_.calls[r.call].op, &node = nodes_.nodes[*t.node].op;
    const Shape& shape = r.numbers.shape();
    return t.numbers.shape() == shape &&
           std::ranges::count_if(results_, [&](const Result& o) { return o.numbers.shape() == shape && trace_.calls[o.call].op == op; }) == 1 &&
           std::ranges::count_if(tensors_, [&](const Tensor& o) { return o.numbers.shape() == shape && nodes_.nodes[*o.node].op == node; }) == 1;
  }

  // A parameter as the program has it, and the other way round.
  struct Parameter {
    Samples plain;
    std::optional<Samples> turned;
  };
  static std::vector<Parameter> parameters_of(const RecordedCall& call) {
    std::vector<Parameter> all;
    for (const auto& [argument, input] : call.inputs) {
      if (note_of(call, "parameter." + argument).empty() || input.shape.empty()) continue;
      const TensorData t = tensor_of(input);
      Parameter p{Samples(t), std::nullopt};
      if (t.shape.size() == 2) p.turned.emplace(turned_around(t));
      all.push_back(std::move(p));
    }
    return all;
  }

  // The share of a call's parameters that a node has as its constants.
  double of_parameters(std::size_t call, std::size_t node) const {
    if (parameters_[call].empty() || constants_[node].empty()) return 0;
    std::size_t found = 0;
    for (const Parameter& p : parameters_[call])
      found += std::ranges::any_of(constants_[node], [&](const Samples& c) {
        return c.numel() == p.plain.numel() &&
               (p.plain.alike(c).value_or(0) >= kMostOfThem || (p.turned && p.turned->alike(c).value_or(0) >= kMostOfThem));
      });
    return static_cast<double>(found) / static_cast<double>(parameters_[call].size());
  }

  static double of_module(const RecordedCall& call, const EngineNode& node) {
    const std::string own = module_path(call);
    if (node.module.empty()) return 0;
    if (own.empty()) return kAnotherModule / 2;
    if (own == node.module) return kSameModule;
    if (own == without_count(node.module)) return kAgain;
    return kAnotherModule;
  }

  static double of_numbers(const Samples& a, const Samples& b) {
    const std::optional<double> plain = a.alike(b), moved = a.alike_moved(b);
    const double best = std::max(plain.value_or(kHalfOfThem - 0.1), moved.value_or(0));
    if (!plain && !moved) return 0;
    return best >= kMostOfThem ? kSameNumbers : best >= kHalfOfThem ? kSomeNumbers : kOtherNumbers;
  }

  // The calls whose results a call reads, and the tensors that its node would have from them.
  double of_neighbours(const Result& r, const Tensor& t) const {
    std::size_t all = 0, together = 0;
    std::optional<std::set<std::string>> before;
    for (const auto& [key, value] : trace_.calls[r.call].notes) {
      if (!key.starts_with("from.")) continue;
      const auto origin = parse_origin(value);
      if (!origin) continue;
      const auto found = of_result_.find({origin->call, origin->result});
      const auto tensor = found == of_result_.end() ? tensor_of_.end() : tensor_of_.find(found->second);
      if (tensor == tensor_of_.end()) continue;
      ++all;
      if (!before) before = graph_.before(*t.node);
      together += before->contains(RecurrentWeights::engines_own(tensors_[tensor->second].name)) ? 1 : 0;
    }
    return all == 0 ? 0 : kNeighbours * static_cast<double>(together) / static_cast<double>(all);
  }

  // The calls that read a result: of several nodes that one call became, the last one is next to theirs.
  double of_readers(const Result& r, const Tensor& t) const {
    const auto readers = readers_.find({r.call, r.output});
    if (readers == readers_.end()) return 0;
    double all = 0, together = 0;
    for (const std::size_t call : readers->second) {
      const auto node = node_of_call_.find(call);
      if (node == node_of_call_.end()) continue;
      ++all;
      if (const int steps = graph_.steps_from(RecurrentWeights::engines_own(t.name), node->second); steps > 0) together += 1.0 / steps;
    }
    return all == 0 ? 0 : kReaders * together / all;
  }

  void assign(const std::vector<std::vector<Score>>& own) {
    struct Pair {
      double points;
      std::size_t result, tensor;
    };
    std::vector<Pair> pairs;
    for (std::size_t r = 0; r < results_.size(); ++r)
      for (std::size_t t = 0; t < tensors_.size(); ++t) {
        if (own[r][t].points + kNeighbours + kReaders < kAccepted) continue;
        const double points = own[r][t].points + of_neighbours(results_[r], tensors_[t]) +
                              of_readers(results_[r], tensors_[t]);
        if (points >= kAccepted) pairs.push_back({points, r, t});
      }
    std::ranges::stable_sort(pairs, std::greater<>(), &Pair::points);
    tensor_of_.clear();
    of_result_.clear();
    node_of_call_.clear();
    std::set<std::size_t> taken;
    for (const Pair& p : pairs) {
      if (tensor_of_.contains(p.result) || taken.contains(p.tensor)) continue;
      tensor_of_[p.result] = p.tensor;
      of_result_[{results_[p.result].call, results_[p.result].output}] = p.result;
      taken.insert(p.tensor);
      node_of_call_.try_emplace(results_[p.result].call, *tensors_[p.tensor].node);
    }
  }

  const CaseFile& trace_;
  const EngineNodes& nodes_;
  NodeGraph graph_;
  std::vector<Result> results_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Samples>> constants_;      // of each node
  std::vector<std::vector<Parameter>> parameters_;   // of each call
  std::map<std::string, std::size_t> calls_in_;  // by module
  std::map<std::string, std::size_t> calls_of_, nodes_of_;  // by operator
  std::map<std::size_t, std::size_t> tensor_of_;  // of a result
  std::map<std::pair<std::size_t, std::string>, std::size_t> of_result_;
  std::map<std::size_t, std::size_t> node_of_call_;
  std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> readers_;  // of a call's output
};

}  // namespace

Matched match_nodes(const CaseFile& trace, const TensorFile& dump, const EngineNodes& nodes) {
  Matcher matcher(trace, dump, nodes, {});
  Matched m = matcher.matched();
  match_arguments(trace, dump, nodes, matcher.nodes_of_calls(), m);
  return m;
}

Matched match_names(const CaseFile& trace, const TensorFile& dump, const diff::NameMap& map) {
  const Matched nothing;
  const Dump named(trace, dump, map, nothing);
  std::set<std::string> known, found;
  for (const auto& [name, tensor] : map) known.insert(tensor);
  for (std::size_t k = 0; k < trace.calls.size(); ++k) {
    for (const auto& [output, recorded] : trace.calls[k].outputs)
      if (const auto d = named.result(k, output)) {
        known.insert(d->name);
        found.insert(trace.calls[k].name + (output == "out" || output == "out0" ? "" : ":" + output));
      }
    for (const auto& [argument, input] : trace.calls[k].inputs)
      if (const auto d = named.parameter(note_of(trace.calls[k], "parameter." + argument))) known.insert(*d);
  }
  const EngineNodes nodes = nodes_by_names(dump, known);
  if (nodes.nodes.empty()) return {};
  return Matcher(trace, dump, nodes, found).matched();
}

}  // namespace assay

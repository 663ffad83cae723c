#include "region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "dump.h"
#include "graph/enrol_graph.h"
#include "origin.h"
#include "region_text.h"
#include "vocabulary/case.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr std::size_t kMostTogether = 64;

struct CannotBeOne {
  NoRegion why;
};

std::string noted_key(std::string key) {
  std::ranges::replace(key, '/', '.');
  return key;
}

class GraphOfCalls {
 public:
  GraphOfCalls(const RegionSources& from, const RegionStyle& style) : from_(from), style_(style) {}

  Region build(std::size_t last, const std::vector<std::pair<std::string, Shape>>& outputs) {
    add(last);
    for (const auto& [output, shape] : outputs) {
      const auto named = results_.find({last, output});
      if (named == results_.end())
        throw CannotBeOne{fmt::format("a graph has no {} of {}", output, called(last))};
      text_.result(named->second, shape);
    }
    Region region;
    region.calls.assign(done_.begin(), done_.end());
    region.folded = std::move(folded_);
    region.epsilons = epsilons_.size();
    region.inherited = inherited_;
    region.names = text_.names();
    RegionText::Written written = std::move(text_).written();
    region.text = std::move(written.text);
    for (RegionText::Argument& a : written.arguments) {
      if (a.number)
        region.call.arguments.emplace_back(*a.number);
      else
        region.call.arguments.emplace_back(std::move(a.data));
      region.within.push_back(std::move(a.within));
    }
    enrol(region, outputs);
    const std::vector<GraphNode>& nodes = region.call.op->graph->nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::string& statement = written.statements.at(nodes[n].line - written.first_line);
      const bool ends = n + 1 == nodes.size() || nodes[n + 1].line != nodes[n].line;
      region.nodes.push_back(ends ? statement
                             : nodes[n].op == nullptr
                                 ? fmt::format("the view that {} reads", statement)
                                 : fmt::format("{} in {}", nodes[n].schema().base, statement));
    }
    return region;
  }

 private:
  std::string called(std::size_t k) const { return name_of(from_.trace, k); }

  void enrol(Region& region, const std::vector<std::pair<std::string, Shape>>& outputs) const {
    if (region.call.arguments.size() > kMaxArguments)
      throw CannotBeOne{fmt::format("they take {} tensors, and a graph takes {} at most",
                                    region.call.arguments.size(), kMaxArguments)};
    try {
      region.call.op = &enrol_graph_alone(region.text);
    } catch (const GraphError& e) {
      throw CannotBeOne{fmt::format("there is no graph of them: {}", e.what())};
    }
    Checked checked = check_arguments(*region.call.op, Arguments(region.call).values());
    if (!checked.ok()) throw CannotBeOne{fmt::format("there is no graph of them: {}", checked.error)};
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (o >= checked.outputs.size() || checked.outputs[o].shape != outputs[o].second)
        throw CannotBeOne{"as a graph they have results of another shape"};
    region.call.outputs = std::move(checked.outputs);
    region.call.output_layouts.resize(region.call.outputs.size());
  }

  void add(std::size_t k) {
    if (done_.contains(k)) return;
    const auto found = from_.given.find(k);
    if (found == from_.given.end())
      throw CannotBeOne{fmt::format("what {} was given is not known", called(k))};
    if (done_.size() == kMostTogether)
      throw CannotBeOne{fmt::format("they are more than {} calls", kMostTogether)};
    const GivenCall& call = found->second;
    if (const auto convolution = from_.foldings.convolution_of(k);
        convolution && is_folded(*convolution, call)) {
      add_folded(*convolution, k, call);
      done_.insert({*convolution, k});
      return;
    }
    std::vector<std::string> words;
    for (const GivenCall::Argument& a : call.arguments)
      words.push_back(a.name + "=" + expression(k, call, a));
    std::vector<std::string> results;
    for (std::size_t r = 0; r < call.results.size(); ++r) {
      results.push_back(text_.name(r == 0 ? called(k) : called(k) + ":" + call.results[r]));
      results_[{k, call.results[r]}] = results.back();
    }
    text_.statement(results, fmt::format("{}({})", call.node, fmt::join(words, ", ")), called(k));
    done_.insert(k);
  }

  std::string expression(std::size_t k, const GivenCall& call, const GivenCall::Argument& a) {
    std::vector<std::string> tensors;
    for (const std::string& key : a.tensors) {
      const auto known = call.tensors.find(key);
      if (known == call.tensors.end())
        throw CannotBeOne{fmt::format("the {} of {} is not known", key, called(k))};
      tensors.push_back(tensor(k, known->second, key));
    }
    if (a.is_list) return fmt::format("[{}]", fmt::join(tensors, ", "));
    if (!tensors.empty()) return tensors[0];
    return a.epsilon ? epsilon(k, a) : a.text;
  }

  // As an argument, of which a diagnosis finds out what was used.
  std::string epsilon(std::size_t k, const GivenCall::Argument& a) {
    const auto same = std::ranges::find(epsilons_, *a.epsilon, [](const auto& known) { return known.first; });
    if (style_.one_epsilon && same != epsilons_.end()) return same->second;
    const std::string what = style_.one_epsilon
                                 ? fmt::format("each {} of {}", a.name, text(CaseValue(*a.epsilon)))
                                 : fmt::format("{} of {}", a.name, called(k)),
                      name = text_.name(what);
    epsilons_.emplace_back(*a.epsilon, name);
    text_.argument({.name = name, .number = a.epsilon});
    return name;
  }

  std::string tensor(std::size_t k, const GivenTensor& t, const std::string& key) {
    const RecordedCall& reader = from_.trace.calls[k];
    if (t.assumed.empty()) return given(k, t, key);
    const auto origin = parse_origin(note_of(reader, "from." + noted_key(key)));
    if (!origin) {
      const auto through = parse_through(note_of(reader, "through." + noted_key(key)));
      throw CannotBeOne{through ? fmt::format("{} was not recorded", through->op)
                                : fmt::format("where the {} of {} comes from is not known", key, called(k))};
    }
    const auto produced = from_.results.find({origin->call, origin->result});
    if (!from_.given.contains(origin->call) || produced == from_.results.end())
      throw CannotBeOne{as_node(from_.trace.calls[origin->call])
                            ? fmt::format("what {} was given is not known", called(origin->call))
                            : lacking(origin->call)};
    if (!produced->second.written_by.empty())
      throw CannotBeOne{fmt::format("{} writes into what {} gave", produced->second.written_by.back(),
                                    called(origin->call))};
    const auto part = view_of(produced->second.data, *origin, t.data.shape);
    if (!part || !same_bits(*part, t.data))
      throw CannotBeOne{fmt::format("what {} read is not what {} gave", called(k), called(origin->call))};
    add(origin->call);
    const auto named = results_.find({origin->call, origin->result});
    if (named == results_.end())
      throw CannotBeOne{fmt::format("a graph has no {} of {}", origin->result, called(origin->call))};
    if (!origin->strides) return named->second;
    return fmt::format("as_strided({}, [{}], [{}], {})", named->second, fmt::join(t.data.shape, ","),
                       fmt::join(*origin->strides, ","), origin->offset);
  }

  NoRegion lacking(std::size_t k) const {
    const std::string& op = from_.trace.calls[k].op;
    if (!note_of(from_.trace.calls[k], "layer").empty())
      return fmt::format("{} is a recurrent layer, which is judged alone", called(k));
    return fmt::format("Assay does not have {}{}", op,
                       op == called(k) ? "" : fmt::format(" ({})", called(k)));
  }

  // What the dump has, a parameter, or an input of the program: an argument of the graph.
  std::string given(std::size_t k, const GivenTensor& t, const std::string& key) {
    const RecordedCall& reader = from_.trace.calls[k];
    const std::string from = note_of(reader, "from." + noted_key(key)),
                      parameter = note_of(reader, "parameter." + noted_key(key));
    const auto origin = parse_origin(from);
    inherited_ = inherited_ || reader.inputs.at(key).data != t.data.memory;
    const bool first = origin && (origin->result == "out" || origin->result == "out0");
    const std::string what = !parameter.empty() ? parameter
                             : !origin          ? fmt::format("{} of {}", key, called(k))
                             : first            ? called(origin->call)
                                                : called(origin->call) + ":" + origin->result;
    return argument(what, from, t.data, t.within, !parameter.empty());
  }

  std::string argument(const std::string& what, const std::string& from, const TensorData& t,
                       const std::vector<double>& within, bool is_parameter) {
    for (const Known& known : arguments_)
      if (known.what == what && known.from == from && same_bits(known.data, t)) return known.name;
    const std::string name = text_.name(what);
    arguments_.push_back({what, from, name, t});
    text_.argument({name, t, within, is_parameter});
    return name;
  }

  // Whether a batch norm is put together with the convolution that it alone reads, as one convolution.
  bool is_folded(std::size_t convolution, const GivenCall& norm) const {
    const Foldings::Folding& f = *from_.foldings.of(convolution);
    const auto input = norm.tensors.find("input");
    const bool is_absent =
        input != norm.tensors.end() && !input->second.assumed.empty() && from_.given.contains(convolution);
    return is_absent && (style_.fold == Fold::wherever || f.weight || f.bias);
  }

  void add_folded(std::size_t convolution, std::size_t norm, const GivenCall& of_norm) {
    const GivenCall& of_convolution = from_.given.at(convolution);
    const Foldings::Folding& f = *from_.foldings.of(convolution);
    FoldedTerms terms;
    inherited_ = inherited_ || !f.fault.empty();
    const auto term = [&](const GivenCall& call, std::size_t k, std::string_view name) {
      for (const GivenCall::Argument& a : call.arguments)
        if (a.name == name) return expression(k, call, a);
      return std::string("none");
    };
    const std::string input = term(of_convolution, convolution, "input");
    if (!f.weight || !f.bias) {
      terms.weight = term(of_convolution, convolution, "weight");
      terms.bias = term(of_convolution, convolution, "bias");
      terms.gamma = term(of_norm, norm, "weight");
      terms.beta = term(of_norm, norm, "bias");
      terms.mean = term(of_norm, norm, "running_mean");
      terms.variance = term(of_norm, norm, "running_var");
      terms.eps = term(of_norm, norm, "eps");
      terms.dimensions = of_convolution.tensors.at("weight").data.shape.size();
    }
    const auto folded = [&](const std::optional<TensorData>& own, const std::string& name,
                            const std::string& expression_of) {
      if (own) return argument(name, "", *own, {}, true);
      const std::string known_as = text_.name(name);
      text_.statement({known_as}, expression_of, name);
      return known_as;
    };
    const std::string weight =
        folded(f.weight, f.weight ? f.weight_name : called(norm) + " in the weight of " + called(convolution),
               folded_weight(terms));
    const std::string bias =
        folded(f.bias, f.bias ? f.bias_name : called(norm) + " in the bias of " + called(convolution),
               folded_bias(terms));
    std::vector<std::string> words;
    for (const GivenCall::Argument& a : of_convolution.arguments)
      words.push_back(a.name + "=" +
                      (a.name == "input"    ? input
                       : a.name == "weight" ? weight
                       : a.name == "bias"   ? bias
                                            : a.text));
    const std::string result = text_.name(called(norm));
    text_.statement({result}, fmt::format("{}({})", of_convolution.node, fmt::join(words, ", ")),
                    called(convolution) + " and " + called(norm));
    results_[{norm, of_norm.results[0]}] = result;
    folded_.push_back(norm);
  }

  struct Known {
    std::string what, from, name;
    TensorData data;
  };

  const RegionSources& from_;
  RegionStyle style_;
  std::vector<std::pair<double, std::string>> epsilons_;  // and their names
  RegionText text_;
  std::set<std::size_t> done_;
  bool inherited_ = false;
  std::vector<std::size_t> folded_;
  std::vector<Known> arguments_;
  std::map<std::pair<std::size_t, std::string>, std::string> results_;  // by call and output, their names
};

}  // namespace

std::variant<Region, NoRegion> region_of(const RegionSources& from, std::size_t last,
                                         const std::vector<std::pair<std::string, Shape>>& outputs,
                                         const RegionStyle& style) {
  try {
    return GraphOfCalls(from, style).build(last, outputs);
  } catch (const CannotBeOne& cannot) {
    return cannot.why;
  }
}

}  // namespace assay

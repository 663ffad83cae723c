// What an operator says of values, worked out for a graph, and its other properties.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "graph_shapes.h"
#include "vocabulary/domain.h"
#include "vocabulary/shape_rule.h"
#include "vocabulary/shape_rule_text.h"

namespace assay {
namespace {

using From = GraphValue::From;

// Of what "a: x; b: y" says of an argument, x.
std::string_view said_of(std::string_view texts, std::string_view argument) {
  while (!texts.empty()) {
    const std::size_t end = std::min(texts.find(';'), texts.size());
    std::string_view one = texts.substr(0, end);
    texts.remove_prefix(std::min(end + 1, texts.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    const std::size_t colon = one.find(':');
    if (one.substr(0, colon) != argument) continue;
    one.remove_prefix(colon + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    return one;
  }
  return {};
}

// The domain of a node's argument with the names of the graph. Empty if it is about what the graph has no name for.
std::string with_names_of(const Graph& graph, const GraphNode& node, std::string_view domain) {
  std::string renamed(domain);
  const std::size_t open = renamed.find('(');
  const std::size_t unless = renamed.find(" unless ");
  const auto argument_name = [&](std::string_view own) -> std::string {
    const int i = node.op->schema.find(own);
    if (i < 0) return std::string(own);
    const GraphValue& v = node.arguments[static_cast<std::size_t>(i)];
    return v.from == From::argument ? std::string(graph.op.schema.argument_storage[v.index].name) : "";
  };
  if (unless != std::string::npos) return renamed.substr(0, unless);
  if (open == std::string::npos || renamed.starts_with("one_of") || renamed.starts_with("dtypes"))
    return renamed;
  const std::size_t close = renamed.find(')', open);
  const std::string name = argument_name(std::string_view(renamed).substr(open + 1, close - open - 1));
  return name.empty() ? "" : renamed.substr(0, open + 1) + name + renamed.substr(close);
}

// Everything that texts say of arguments which go straight into nodes: "alpha: real; min: real".
template <class Say>  // (node, its argument, the graph's) -> text
std::string collected(const Graph& graph, const Say& say) {
  std::map<std::string_view, std::string> all;
  for (const GraphNode& node : graph.nodes) {
    if (node.op == nullptr) continue;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const GraphValue& v = node.arguments[i];
      if (v.from != From::argument) continue;
      const Argument& own = graph.op.schema.argument_storage[v.index];
      const std::string text = say(node, node.op->schema.argument_storage[i], own);
      if (!text.empty()) all.try_emplace(own.name, text);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [name, text] : all) texts.push_back(fmt::format("{}: {}", name, text));
  return fmt::format("{}", fmt::join(texts, "; "));
}

// The first of some clauses with ";" between them, which is taken away.
std::string_view clause_of(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(';'), rest.size());
  std::string_view clause = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  while (clause.starts_with(' ')) clause.remove_prefix(1);
  return clause;
}

// Every size and run of a result's pattern must be one of an argument's.
void check_rule(const Graph& graph) {
  const auto names = [](const ShapePattern& p) {
    std::set<std::string> all;
    for (const DimPattern& d : p.dims) {
      if (d.kind == DimPattern::Kind::symbol || d.kind == DimPattern::Kind::product) all.insert(d.name);
      if (d.kind == DimPattern::Kind::product) all.insert(d.operands[0]);
      if (d.kind == DimPattern::Kind::run || d.kind == DimPattern::Kind::ones) all.insert("*" + d.name);
    }
    return all;
  };
  try {
    for (const ShapeAlternative& alternative : parse_shape_rule(graph.op).alternatives) {
      std::set<std::string> known;
      for (const ShapePattern& p : alternative.inputs) known.merge(names(p));
      for (const BoundNumber& n : alternative.numbers) known.merge(names({.dims = {n.size}}));
      for (const ShapePattern& p : alternative.outputs)
        for (const std::string& name : names(p))
          if (!known.contains(name))
            throw GraphError(fmt::format("{}: shapes \"{}\": no argument says {}", graph.op.schema.name,
                                         graph.op.shapes, name));
    }
  } catch (const GraphError&) {
    throw;
  } catch (const std::invalid_argument& e) {
    throw GraphError(e.what());
  }
}

}  // namespace

std::string derived_domains(const Graph& graph) {
  return collected(graph, [&](const GraphNode& node, const Argument& a, const Argument& own) {
    // A number where a tensor is expected may be any.
    if (a.is_tensor() && !own.is_tensor())
      return std::string(own.name == "eps" || own.name == "epsilon" ? "epsilon"
                         : own.type == Type::integer                ? "integer"
                                                                    : "real");
    return with_names_of(graph, node, said_of(node.op->domains, a.name));
  });
}

void derive(Graph& graph, std::deque<std::string>& texts) {
  Operator& op = graph.op;
  const auto kept = [&](std::string text) -> std::string_view { return texts.emplace_back(std::move(text)); };
  if (op.domains.empty()) op.domains = kept(derived_domains(graph));
  if (op.shapes.empty()) op.shapes = kept(derived_shapes(graph));
  check_rule(graph);
  op.ranges = kept(collected(graph, [&](const GraphNode& node, const Argument& a, const Argument& /*own*/) {
    return std::string(said_of(node.op->ranges, a.name));
  }));
  op.dtypes = kFloatingPoint;
  bool elementwise = true;
  std::set<std::string> kinks;
  for (const GraphNode& node : graph.nodes) {
    if (node.op == nullptr) {
      elementwise = elementwise && (node.schema().base == "to" || node.schema().base == "rounded");
      continue;
    }
    elementwise = elementwise && (node.op->properties & kElementwise) != 0;
    op.dtypes = op.dtypes & node.op->dtypes;
    for (const GraphValue& v : node.arguments)
      if (v.from == From::argument && !node.op->kinks.empty()) kinks.insert(std::string(node.op->kinks));
  }
  // Of the operators that give the results: what a right kernel may do to any result.
  std::set<std::string> excuses;
  for (const GraphValue& v : graph.results) {
    std::string_view rest = v.from == From::node && graph.nodes[v.index].op != nullptr
                                ? graph.nodes[v.index].op->unobservable
                                : "";
    while (!rest.empty()) {
      const std::string_view clause = clause_of(rest);
      if (clause.starts_with("results.")) excuses.insert(std::string(clause));
    }
  }
  op.unobservable = kept(fmt::format("{}", fmt::join(excuses, "; ")));
  op.properties = elementwise ? std::uint32_t{kElementwise} : 0;
  op.kinks = kept(fmt::format("{}", fmt::join(kinks, ", ")));
}

}  // namespace assay

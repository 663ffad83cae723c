#include "graph_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vocabulary/domain.h"
#include "vocabulary/operators.h"
#include "vocabulary/size_of_tensors.h"

namespace assay {
namespace {

using From = GraphValue::From;

constexpr std::size_t kMostNodes = 1'000;  // each of which may be read while the one after it is read

GraphValue value_of_literal(CaseValue v) {
  if (std::holds_alternative<None>(v)) return {};
  return {.from = From::literal, .literal = std::move(v)};
}

std::string_view type_name(const Argument& a) {
  constexpr std::string_view names[] = {"Tensor", "Scalar", "int",        "float",
                                        "bool",   "str",    "ScalarType", "MemoryFormat"};
  return names[static_cast<std::size_t>(a.type)];
}

// Arguments whose elements say which element of another tensor is meant, or are multiplied as integers: a node's result is a number of the
// scalar, and no integer.
struct ReadAsIntegers {
  std::string_view op, argument;
};
constexpr ReadAsIntegers kReadAsIntegers[] = {{"embedding", "indices"},
                                              {"max_pool2d_with_indices_backward", "indices"},
                                              {"quantized_linear", "input"},
                                              {"quantized_linear", "weight"},
                                              {"quantized_convolution", "input"},
                                              {"quantized_convolution", "weight"}};

bool is_none(const GraphExpression& e) { return e.literal && (*e.literal == "none" || *e.literal == "None"); }

}  // namespace

GraphExpression GraphCalls::call(std::string_view name, const Given& given) {
  GraphNode node;
  node.line = read_.line();
  node.movement = find_movement(name);
  if (node.movement == nullptr) node.op = find_spelled(name);
  if (node.op != nullptr && node.op->graph != nullptr)
    read_.fail(fmt::format("{} is a graph itself; write its body here", name));
  GraphExpression result{.value = {.from = From::node, .index = graph_.nodes.size()}, .is_last = true};
  if (node.movement == nullptr && node.op == nullptr) {
    missing_[std::string(name)].push_back(read_.line());
    return result;
  }
  if (graph_.nodes.size() == kMostNodes)
    read_.fail(fmt::format("it has more than {} operators, which are the most", kMostNodes));
  put(node, name, given);
  for (const auto& [op, argument] : kReadAsIntegers) {
    const int i = node.op != nullptr && node.schema().base == op ? node.schema().find(argument) : -1;
    if (i >= 0 && node.arguments[static_cast<std::size_t>(i)].from == From::node)
      read_.fail(fmt::format("{}: no operator of a graph can compute the integers of {}", op, argument));
  }
  const std::string base(node.schema().base);
  std::size_t& count = used_[base];
  node.name = count == 0 ? base : fmt::format("{}_{}", base, count);
  ++count;
  graph_.nodes.push_back(std::move(node));
  return result;
}

void GraphCalls::put(GraphNode& node, std::string_view name, const Given& given) const {
  const Schema& schema = node.schema();
  node.arguments.resize(schema.argument_count);
  std::vector<bool> seen(schema.argument_count);
  std::size_t position = 0;
  for (const auto& [written, e] : given) {
    const int at = written.empty() ? static_cast<int>(position++) : schema.find(written);
    if (at < 0 || static_cast<std::size_t>(at) >= schema.argument_count)
      read_.fail(written.empty() ? fmt::format("{} has {} arguments, not {}: {}", name, schema.argument_count,
                                               given.size(), schema.text)
                                 : fmt::format("{} has no argument {}: {}", name, written, schema.text));
    const auto i = static_cast<std::size_t>(at);
    if (seen[i]) read_.fail(fmt::format("{} is given {} twice", name, schema.argument_storage[i].name));
    seen[i] = true;
    node.arguments[i] = argument(node, schema.argument_storage[i], e, name);
  }
  for (std::size_t i = 0; i < schema.argument_count; ++i) {
    const Argument& a = schema.argument_storage[i];
    if (seen[i] || (node.op != nullptr && is_size_of_tensors(*node.op, i))) continue;
    if (!a.has_default) read_.fail(fmt::format("{} lacks {}: {}", name, a.name, schema.text));
    node.arguments[i] = value_of_literal(default_value(a));
  }
}

GraphValue GraphCalls::argument(const GraphNode& node, const Argument& a, const GraphExpression& e,
                                std::string_view of) const {
  if (a.is_tensor() && a.list) {
    if (!e.is_list) read_.fail(fmt::format("{} of {} is a list of tensors: [x, y]", a.name, of));
    GraphValue list{.from = From::list};
    for (const GraphExpression& item : e.items) list.items.push_back(tensor(item, a.name));
    return list;
  }
  if (a.is_tensor()) {
    if (is_none(e)) {
      if (!a.optional) read_.fail(fmt::format("{} of {} may not be None", a.name, of));
      return {};
    }
    return tensor(e, a.name);
  }
  const auto index = static_cast<std::size_t>(node.schema().find(a.name));
  if (is_none(e) && node.op != nullptr && is_size_of_tensors(*node.op, index)) return {};
  if (e.literal) {
    try {
      return value_of_literal(parse_argument(*e.literal, a));
    } catch (const CaseError& error) {
      read_.fail(fmt::format("{}: {}", of, error.what()));
    }
  }
  if (e.value.from != From::argument || e.is_list)
    read_.fail(fmt::format("{} of {} is written out, or an argument of the graph", a.name, of));
  const Argument& own = graph_.op.schema.argument_storage[e.value.index];
  const bool same =
      own.type == a.type ||
      (a.type == Type::scalar && own.type != Type::string && own.type != Type::dtype && !own.is_tensor()) ||
      (a.type == Type::real && own.type == Type::integer);
  if (!same || own.list != a.list || (own.optional && !a.optional))
    read_.fail(fmt::format("{} of {} is of another type than {}, {}", a.name, of, own.name, type_name(own)));
  return e.value;
}

GraphValue GraphCalls::tensor(const GraphExpression& e, std::string_view use) const {
  if (e.is_list) read_.fail(fmt::format("{} is a list, where a tensor is expected", use));
  if (!e.literal) {
    if (e.value.from != From::argument) return e.value;
    const Argument& own = graph_.op.schema.argument_storage[e.value.index];
    if (own.list ||
        (!own.is_tensor() && own.type != Type::scalar && own.type != Type::real && own.type != Type::integer))
      read_.fail(fmt::format("{} is {}, where a tensor is expected", use, own.name));
    return e.value;
  }
  try {
    return {.from = From::number, .literal = parse_argument(*e.literal, {.name = use, .type = Type::scalar})};
  } catch (const CaseError&) {
    read_.fail(fmt::format("\"{}\" is no name of the graph, and no number", *e.literal));
  }
}

void GraphCalls::check_result(const GraphValue& v) const {
  if (v.from != From::node || v.index >= graph_.nodes.size()) return;
  const Schema& schema = graph_.nodes[v.index].schema();
  if (schema.result_count == 1 && schema.result_storage[0].list) return;  // as many as there are
  if (v.result >= schema.result_count)
    read_.fail(fmt::format("{} has {} result{}", schema.base, schema.result_count,
                           schema.result_count == 1 ? "" : "s"));
}

void GraphCalls::rename(std::size_t node, const std::string& name) {
  if (node >= graph_.nodes.size() || name == "_") return;
  GraphNode& n = graph_.nodes[node];
  std::size_t& count = used_[name];
  n.name = count == 0 ? name : fmt::format("{}_{}", name, count);
  ++count;
}

void GraphCalls::say_missing() const {
  if (missing_.empty()) return;
  std::string all;
  for (const auto& [name, lines] : missing_)
    all += fmt::format(
        "{}{} (line {}){}", all.empty() ? "" : ", ", name, fmt::join(lines, ", "),
        nearest_operator(name).empty() ? "" : fmt::format(", perhaps {}", nearest_operator(name)));
  throw GraphError(
      fmt::format("{} needs operators that Assay does not have: {}", graph_.op.schema.name, all));
}

}  // namespace assay

#include "graph_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "vocabulary/domain.h"
#include "vocabulary/shape_rule.h"
#include "vocabulary/size_of_tensors.h"

namespace assay {
namespace {

using From = GraphValue::From;

assay_value of_kind(assay_kind kind, std::size_t count = 1) {
  assay_value v{};
  v.kind = kind;
  v.count = static_cast<std::uint32_t>(count);
  return v;
}

// Sizes of tensors that the graph leaves out. What is wrong with the tensors, the check of the arguments says.
void fill_sizes(const Operator& op, std::span<assay_value> values) {
  std::vector<std::size_t> left_out;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].kind == ASSAY_KIND_NONE && is_size_of_tensors(op, i)) left_out.push_back(i);
  if (left_out.empty()) return;
  const ShapeMatch match = match_shapes(op, values);
  for (const std::size_t i : left_out) {
    values[i] = of_kind(ASSAY_KIND_INT);
    if (!match.error.empty()) continue;
    const auto& numbers = shape_rule(op).alternatives[static_cast<std::size_t>(match.alternative)].numbers;
    const auto number = std::ranges::find(numbers, static_cast<int>(i), &BoundNumber::argument);
    values[i].as.integer = number->value(match.binding);
  }
}

assay_value value_of(const CaseValue& v) {
  assay_value a = of_kind(ASSAY_KIND_NONE);
  if (const auto* n = std::get_if<std::int64_t>(&v)) {
    a.kind = ASSAY_KIND_INT;
    a.as.integer = *n;
  } else if (const auto* x = std::get_if<double>(&v)) {
    a.kind = ASSAY_KIND_DOUBLE;
    a.as.real = *x;
  } else if (const auto* b = std::get_if<bool>(&v)) {
    a.kind = ASSAY_KIND_BOOL;
    a.as.integer = *b ? 1 : 0;
  } else if (const auto* s = std::get_if<std::string>(&v)) {
    a.kind = ASSAY_KIND_STRING;
    a.as.string = s->c_str();
  } else if (const auto* d = std::get_if<Dtype>(&v)) {
    a.kind = ASSAY_KIND_DTYPE;
    a.as.dtype = info(*d).dlpack;
  } else if (const auto* f = std::get_if<MemoryFormat>(&v)) {
    a.kind = ASSAY_KIND_MEMORY_FORMAT;
    a.as.integer = static_cast<std::int64_t>(*f);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&v)) {
    a.kind = ASSAY_KIND_INTS;
    a.count = static_cast<std::uint32_t>(integers->size());
    a.as.integers = integers->data();
  } else if (const auto* reals = std::get_if<std::vector<double>>(&v)) {
    a.kind = ASSAY_KIND_DOUBLES;
    a.count = static_cast<std::uint32_t>(reals->size());
    a.as.reals = reals->data();
  }
  return a;
}

}  // namespace

bool is_said(const Graph& graph, std::string_view part) {
  const std::less_equal<> before;
  return !part.empty() && before(graph.text.data(), part.data()) &&
         before(part.data() + part.size(), graph.text.data() + graph.text.size());
}

Graph::Graph() = default;
Graph::~Graph() = default;

const assay_tensor* NodeArguments::without_data(Dtype dtype, const Shape& shape) {
  Tensor& t = tensors_.emplace_back();
  t.shape = shape;
  t.strides.resize(shape.size());
  std::int64_t n = 1;
  for (std::size_t d = shape.size(); d-- > 0; n *= shape[d]) t.strides[d] = n;
  t.view = {.data = nullptr,
            .device = {ASSAY_CPU, 0},
            .ndim = static_cast<std::int32_t>(shape.size()),
            .dtype = info(dtype).dlpack,
            .shape = t.shape.data(),
            .strides = t.strides.data(),
            .byte_offset = 0};
  return &t.view;
}

GraphShapes::GraphShapes(const Graph& graph, std::span<const assay_value> arguments)
    : graph_(graph), arguments_(arguments), nodes_(graph.nodes.size()) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == ASSAY_KIND_TENSOR &&
        domain(graph.op, graph.op.schema.argument_storage[i].name).own.empty()) {
      usual_ = static_cast<const View*>(arguments[i].as.tensor)->type();
      break;
    }
}

const std::vector<Checked::Output>& GraphShapes::of(std::size_t node) {
  make(node);
  return nodes_[node]->outputs;
}
const std::vector<Moved>& GraphShapes::moved(std::size_t node) {
  make(node);
  return nodes_[node]->moved;
}
std::span<const assay_value> GraphShapes::arguments(std::size_t node) {
  make(node);
  return nodes_[node]->arguments.values();
}

std::optional<Checked::Output> GraphShapes::of(const GraphValue& v) {
  if (v.from == From::node) {
    const auto& outputs = of(v.index);
    return v.result < outputs.size() ? std::optional(outputs[v.result]) : std::nullopt;
  }
  if (v.from == From::argument && arguments_[v.index].kind == ASSAY_KIND_TENSOR) {
    const auto& view = *static_cast<const View*>(arguments_[v.index].as.tensor);
    return Checked::Output{view.type(), Shape(view.sizes().begin(), view.sizes().end())};
  }
  return Checked::Output{usual_, {}};
}

const assay_tensor* GraphShapes::tensor(NodeArguments& to, const GraphValue& v) {
  if (v.from == From::argument && arguments_[v.index].kind == ASSAY_KIND_TENSOR)
    return arguments_[v.index].as.tensor;
  const std::optional<Checked::Output> output = of(v);
  return output ? to.without_data(output->dtype, output->shape) : nullptr;
}

bool GraphShapes::put(NodeArguments& to, assay_value& at, const GraphValue& v, const Argument& a) {
  if (v.from == From::none) {
    at = of_kind(ASSAY_KIND_NONE);
    return true;
  }
  if (a.is_tensor() && !a.list) {
    at = of_kind(ASSAY_KIND_TENSOR);
    at.as.tensor = tensor(to, v);
    return at.as.tensor != nullptr;
  }
  if (a.is_tensor()) {
    auto& list = to.lists_.emplace_back();
    for (const GraphValue& item : v.items) list.push_back(tensor(to, item));
    at = of_kind(ASSAY_KIND_TENSORS, list.size());
    at.as.tensors = list.data();
    return std::ranges::none_of(list, [](const assay_tensor* t) { return t == nullptr; });
  }
  at = v.from == From::argument ? arguments_[v.index] : value_of(v.literal);
  return true;
}

void GraphShapes::make(std::size_t number) {
  if (nodes_[number] != nullptr) return;
  std::vector<bool> needed(number + 1);
  needed[number] = true;
  const auto look = [&](const GraphValue& v, const auto& self) -> void {
    if (v.from == From::node) needed[v.index] = true;
    for (const GraphValue& item : v.items) self(item, self);
  };
  for (std::size_t k = number + 1; k-- > 0;)
    if (needed[k] && nodes_[k] == nullptr)
      for (const GraphValue& v : graph_.nodes[k].arguments) look(v, look);
  for (std::size_t k = 0; k <= number; ++k)
    if (needed[k] && nodes_[k] == nullptr) make_one(k);
}

void GraphShapes::make_one(std::size_t number) {
  nodes_[number] = std::make_unique<Node>();
  Node& node = *nodes_[number];
  const GraphNode& of = graph_.nodes[number];
  const Schema& schema = of.schema();
  node.arguments.values_.resize(schema.argument_count);
  for (std::size_t i = 0; i < schema.argument_count; ++i)
    if (!put(node.arguments, node.arguments.values_[i], of.arguments[i], schema.argument_storage[i])) {
      if (fault_.ok())
        blame(number, fmt::format("{} is a result that there is not", schema.argument_storage[i].name),
              static_cast<int>(i), Checked::Fault::shape);
      return;
    }
  if (of.op != nullptr) {
    fill_sizes(*of.op, node.arguments.values_);
    Checked checked = check_arguments(*of.op, node.arguments.values_);
    if (!checked.ok()) blame(number, checked.error, of.op->schema.find(checked.argument), checked.fault);
    node.outputs = std::move(checked.outputs);
    return;
  }
  try {
    node.moved = of.movement->move(node.arguments.values_);
    for (const Moved& m : node.moved) node.outputs.push_back({m.dtype, m.shape});
  } catch (const MovementError& e) {
    const std::string_view error = e.what();
    blame(number, fmt::format("{}: {}", schema.base, error),
          schema.find(error.substr(0, error.find_first_of(" :"))), Checked::Fault::shape);
  }
}

// The argument of the graph by which a value comes about, the first one.
std::string_view GraphShapes::argument_behind(const GraphValue& value) const {
  std::vector<bool> seen(graph_.nodes.size());
  std::vector<const GraphValue*> left{&value};  // the first one is the last
  while (!left.empty()) {
    const GraphValue& v = *left.back();
    left.pop_back();
    if (v.from == From::argument) return graph_.op.schema.argument_storage[v.index].name;
    const bool is_new = v.from == From::node && !seen[v.index];
    if (is_new) seen[v.index] = true;
    for (const GraphValue& in : is_new ? graph_.nodes[v.index].arguments : v.items) left.push_back(&in);
    const auto added =
        static_cast<std::ptrdiff_t>(is_new ? graph_.nodes[v.index].arguments.size() : v.items.size());
    std::reverse(left.end() - added, left.end());
  }
  return {};
}

void GraphShapes::blame(std::size_t node, std::string error, int argument, Checked::Fault fault) {
  if (!fault_.ok()) return;
  const GraphNode& of = graph_.nodes[node];
  fault_.fault = fault;
  fault_.error = fmt::format("{}, {} in line {}: {}", graph_.op.schema.name, of.name, of.line, error);
  if (argument >= 0) fault_.argument = argument_behind(of.arguments[static_cast<std::size_t>(argument)]);
  for (const GraphValue& v : of.arguments)
    if (fault_.argument.empty()) fault_.argument = argument_behind(v);
}

Checked check_graph(const Operator& op, std::span<const assay_value> arguments) {
  const Graph& graph = *op.graph;
  if (is_said(graph, op.shapes))
    if (ShapeMatch match = match_shapes(op, arguments); !match.error.empty()) {
      Checked wrong;
      wrong.fault = Checked::Fault::shape;
      wrong.error = std::move(match.error);
      if (match.argument >= 0)
        wrong.argument = op.schema.argument_storage[static_cast<std::size_t>(match.argument)].name;
      return wrong;
    }
  GraphShapes shapes(graph, arguments);
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) shapes.of(k);  // those that no result needs, too
  Checked checked = shapes.fault();
  if (!checked.ok()) return checked;
  for (const GraphValue& v : graph.results) {
    const std::optional<Checked::Output> output = shapes.of(v);
    if (output) {
      checked.outputs.push_back(*output);
      continue;
    }
    checked.fault = Checked::Fault::shape;
    checked.error = fmt::format("{}: {} has {} results, and number {} is one of the graph's", op.schema.name,
                                graph.nodes[v.index].name, shapes.of(v.index).size(), v.result);
    checked.argument = op.schema.argument_storage[0].name;
    checked.outputs.clear();
    break;
  }
  return checked;
}

}  // namespace assay

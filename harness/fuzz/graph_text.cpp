// Texts of graphs, and their JSON: what reads them throws GraphError, or gives a graph whose JSON reads as the same graph. Calls of it are
// allowed or not.
#include <algorithm>
#include <array>
#include <memory>

#include "../graph/graph_file.h"
#include "graph/graph_check.h"
#include "graph/graph_text.h"
#include "operators.h"
#include "ops/activation.h"
#include "ops/binary.h"
#include "ops/functions.h"
#include "ops/mm.h"
#include "ops/softmax.h"
#include "target.h"
#include "vocabulary/operators.h"

namespace assay::fuzz {
namespace {

constexpr std::size_t kLongestInput = 20'000;
constexpr std::size_t kMostKept = 3'000;  // graphs that are called, and live as long as the program

std::vector<std::string> seeds() {
  return {
      "assay::a(Tensor x, Tensor y, float s=1e-6) -> Tensor { gelu(x, approximate=tanh) * y + s - -1.5 / x }",
      "assay::b(Tensor x, Tensor r, int d, bool flag) -> (Tensor, Tensor)\n  shapes x=[N,*] r=[N,*] -> [N,*], [edge(0,0,0,e1)]\n"
      "  domains d: natural # a comment\n{\n  a, _ = chunk(x, 2, dim=-1); h = cat([r, to(a, bf16)], 1)\n\n  return clamp(x, min=-inf), "
      "argmax(h, 1)\n}",
      "assay::c(Tensor x, Tensor w) -> Tensor { h, mean, rstd = native_group_norm(x, w, none, 2, 6, 4, 3, 1e-5)\n return h + 2 }",
      "assay::d(Tensor x) -> Tensor { cat([transpose(x, 0, -1), permute(x, [1, 0]), reshape(x, [-1, 6])[0]], 1) }",
      "assay::e(Tensor x, Tensor w) -> Tensor { convolution(x, w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) }\n"
      "f(Tensor x) -> Tensor { s = 1; s = slice(x, 0, 1, -1, 2); split(s, 2)[1] }",
      R"({"format": "assay.graph/1", "schema": "assay::g(Tensor gate, Tensor up) -> Tensor", "shapes": "gate=[*] up=[*] -> [*]", "nodes": [
{"results": ["g"], "op": "gelu", "arguments": {"self": "gate", "approximate": "\"tanh\""}},
{"results": ["y", "z"], "op": "chunk", "arguments": {"self": "g", "chunks": 2, "dim": -1}},
{"results": ["c"], "op": "clamp", "arguments": {"self": "y", "min": "-inf", "max": null}}], "results": ["c"]})",
      R"({"format": "assay.graph/1", "graphs": [{"schema": "h(Tensor x) -> Tensor", "domains": "x: scale", "nodes": [{"results": ["y"],
"op": "sum", "arguments": {"self": "x", "dim": [0, -1], "keepdim": true, "dtype": "f32"}}], "results": ["y"]}]})"};
}

bool same(const GraphValue& a, const GraphValue& b);
bool same(const std::vector<GraphValue>& a, const std::vector<GraphValue>& b) {
  return std::ranges::equal(a, b, [](const GraphValue& x, const GraphValue& y) { return same(x, y); });
}
bool same(const GraphValue& a, const GraphValue& b) {
  return a.from == b.from && a.index == b.index && a.result == b.result &&
         a.literal.index() == b.literal.index() && text(a.literal) == text(b.literal) &&
         same(a.items, b.items);
}
bool same(const Graph& a, const Graph& b) {
  const auto same_node = [](const GraphNode& x, const GraphNode& y) {
    return x.op == y.op && x.movement == y.movement && same(x.arguments, y.arguments);
  };
  return a.op.schema.text == b.op.schema.text && a.op.shapes == b.op.shapes && a.op.domains == b.op.domains &&
         std::ranges::equal(a.nodes, b.nodes, same_node) && same(a.results, b.results);
}

void write_and_read(const Graph& graph) {
  const std::string json = graph_json(graph);
  std::string again;
  try {
    const std::vector<std::string> texts = graphs_of_json(json);
    if (texts.size() != 1) broken("JSON of one graph has several");
    again = texts[0];
    if (!same(read_graph(again)->graph, graph)) broken("is read as another graph:\n" + json + "\n" + again);
  } catch (const GraphError& e) {
    broken(e.what() + ("\n" + json) + "\n" + again);
  }
}

// With square matrices, and numbers that suit most operators.
void call(const Graph& graph) {
  static std::array<std::int64_t, 4> shape{6, 6, 1, 1}, strides{6, 1, 1, 1};
  static const std::array<std::int64_t, 3> ones{1, 1, 1};
  for (const std::int32_t dimensions : {2, 0, 4}) {
    const assay_tensor tensor{.data = nullptr,
                              .device = {ASSAY_CPU, 0},
                              .ndim = dimensions,
                              .dtype = info(Dtype::f32).dlpack,
                              .shape = shape.data(),
                              .strides = strides.data(),
                              .byte_offset = 0};
    std::vector<assay_value> values;
    for (const Argument& a : graph.op.schema.arguments()) {
      assay_value v{};
      v.kind = a.is_tensor()                                       ? ASSAY_KIND_TENSOR
               : a.list                                            ? ASSAY_KIND_INTS
               : a.type == Type::real                              ? ASSAY_KIND_DOUBLE
               : a.type == Type::boolean                           ? ASSAY_KIND_BOOL
               : a.type == Type::integer || a.type == Type::scalar ? ASSAY_KIND_INT
                                                                   : ASSAY_KIND_NONE;
      if (v.kind == ASSAY_KIND_TENSOR) v.as.tensor = &tensor;
      if (v.kind == ASSAY_KIND_DOUBLE) v.as.real = 0.5;
      if (v.kind == ASSAY_KIND_INT || v.kind == ASSAY_KIND_BOOL) v.as.integer = 1;
      if (v.kind == ASSAY_KIND_INTS) {
        v.count = static_cast<std::uint32_t>(ones.size());
        v.as.integers = ones.data();
      }
      values.push_back(v);
    }
    const Checked checked = check_arguments(graph.op, values);
    if (checked.ok() && checked.outputs.size() != graph.results.size())
      broken("an allowed call without its results");
  }
}

bool read_one(const std::string& text) {
  try {
    const std::unique_ptr<GraphAlone> read = read_graph(text);
    write_and_read(read->graph);
    static std::size_t kept = 0;
    if (kept >= kMostKept) return true;
    const Graph& graph = parse_graph(text);
    ++kept;
    call(graph);
  } catch (const GraphError&) {
    return false;
  }
  return true;
}

bool run(std::string_view input) {
  static const bool enrolled = [] {
    enrol_operators();
    for (const Operator* op : {&ops::sub_tensor, &ops::mul_tensor, &ops::div_tensor, &ops::mm, &ops::silu,
                               &ops::rsqrt, &ops::softmax_int})
      enrol_operator(*op);
    return true;
  }();
  (void)enrolled;
  if (input.size() > kLongestInput) return false;
  std::vector<std::string> texts{std::string(input)};
  try {
    if (input.starts_with('{'))
      texts = graphs_of_json(input);
    else if (is_graph(input))
      texts = read_graphs(texts[0]);
  } catch (const GraphError&) {
    return false;
  }
  bool any = false;
  for (const std::string& text : texts) any = read_one(text) || any;
  return any;
}

}  // namespace

const Target kGraphText{"graph_text", seeds, run};

}  // namespace assay::fuzz

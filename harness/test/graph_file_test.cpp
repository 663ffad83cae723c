// Graphs as JSON and as files.
#include "harness/graph/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/graph.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

bool same_value(const GraphValue& a, const GraphValue& b) {
  return a.from == b.from && a.index == b.index && a.result == b.result &&
         a.literal.index() == b.literal.index() && text(a.literal) == text(b.literal) &&
         std::ranges::equal(a.items, b.items, same_value);
}

// What is written of a graph is read as the same one.
void expect_round_trip(std::string_view text) {
  const Graph& graph = parse_graph(text);
  const std::string document = graph_json(graph);
  const std::vector<std::string> texts = graphs_of_json(document);
  ASSERT_EQ(texts.size(), 1u);
  const Graph& again = parse_graph(texts[0]);
  EXPECT_EQ(again.op.schema.text, graph.op.schema.text);
  EXPECT_EQ(again.op.shapes, graph.op.shapes);
  EXPECT_EQ(again.op.domains, graph.op.domains);
  ASSERT_EQ(again.nodes.size(), graph.nodes.size()) << document;
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    EXPECT_EQ(again.nodes[k].op, graph.nodes[k].op);
    EXPECT_EQ(again.nodes[k].movement, graph.nodes[k].movement);
    EXPECT_TRUE(std::ranges::equal(again.nodes[k].arguments, graph.nodes[k].arguments, same_value))
        << document;
  }
  EXPECT_TRUE(std::ranges::equal(again.results, graph.results, same_value)) << document;
  EXPECT_EQ(graph_json(again), document);
}

TEST(GraphFile, JsonReadsAsWhatWasWritten) {
  expect_round_trip("assay::j1(Tensor gate, Tensor up) -> Tensor { silu(gate) * up }");
  expect_round_trip(
      "assay::j2(Tensor x, Tensor r, Tensor g, float eps) -> (Tensor, Tensor)\n  shapes x=[*,K] r=[*,K] g=[K] -> [*,K], [*,K]\n"
      "  domains eps: epsilon\n{ h = x + r; return h * rsqrt(mean(h * h, -1, true) + eps) * g, h }");
  expect_round_trip("assay::j3(Tensor x) -> Tensor { a, b = chunk(x, 2, -1); cat([b, a * 2, a], dim=-1) }");
  // Texts, infinities, lists, what is left out, and arguments that are called as results might be.
  expect_round_trip(
      "assay::j4(Tensor r0_0, Tensor tanh) -> Tensor { gelu(r0_0, approximate=\"tanh\") + gelu(tanh, approximate=none) }");
  expect_round_trip(
      "assay::j5(Tensor x) -> Tensor { sum(clamp(x, -inf, 1e300) * 1e-320, [0, -1], dtype=f32) }");
  expect_round_trip(
      "assay::j6(Tensor x, Tensor w) -> Tensor { convolution(x, w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) }");
  expect_round_trip(
      "assay::j7(Tensor x) -> Tensor { y, _, rstd = native_layer_norm(x, [6], none, none, 1e-5); rstd + 3 }");
  expect_round_trip("assay::j8(Tensor x) -> Tensor { x }");
}

std::string json_error(const std::string& document) {
  try {
    for (const std::string& text : graphs_of_json(document)) parse_graph(text);
  } catch (const GraphError& e) {
    return e.what();
  }
  return "";
}

TEST(GraphFile, SaysWhatIsWrongWithADocument) {
  const json right = json::parse(R"({"format": "assay.graph/1", "schema": "assay::w(Tensor x) -> Tensor",
    "nodes": [{"results": ["y"], "op": "relu", "arguments": {"self": "x"}}], "results": ["y"]})");
  EXPECT_EQ(json_error(right.dump()), "");
  const auto with = [&](const char* at, const json& value) {
    json wrong = right;
    wrong[json::json_pointer(at)] = value;
    return json_error(wrong.dump());
  };
  EXPECT_THAT(json_error("{"), HasSubstr("no assay.graph/1: "));
  EXPECT_THAT(json_error("[]"), HasSubstr("no assay.graph/1: "));
  EXPECT_EQ(json_error("{}"), "format is \"\", but must be \"assay.graph/1\"");
  EXPECT_THAT(with("/schema", 3), HasSubstr("no assay.graph/1: "));
  EXPECT_THAT(with("/schema", "assay::w(Tensor x) -> Tensor { silu(x) }"), HasSubstr("braces"));
  EXPECT_THAT(with("/nodes", "relu"), HasSubstr("no assay.graph/1: "));
  EXPECT_THAT(with("/nodes/0/op", "rellu"), HasSubstr("rellu"));
  EXPECT_THAT(with("/nodes/0/op", "relu(x); silu"), HasSubstr("op is \"relu(x); silu\""));
  EXPECT_THAT(with("/nodes/0/op", 1.5), HasSubstr("op is no name"));
  EXPECT_THAT(with("/nodes/0/results", json::array()), HasSubstr("relu has no results"));
  EXPECT_THAT(with("/nodes/0/results/0", "a = b"), HasSubstr("a result of relu"));
  EXPECT_THAT(with("/nodes/0/arguments/self", "x - x"), HasSubstr("self of relu"));
  EXPECT_THAT(with("/nodes/0/arguments/self", "x-x"), HasSubstr("self of relu"));
  EXPECT_THAT(with("/nodes/0/arguments", {{"self=x)\n  y = silu(self", "x"}}),
              HasSubstr("an argument of relu"));
  EXPECT_THAT(with("/nodes/0/arguments/self", {{"name", "x"}}), HasSubstr("neither a name nor a literal"));
  EXPECT_THAT(with("/nodes/0/arguments/self", json::array({json::array()})), HasSubstr("a list of lists"));
  EXPECT_THAT(with("/nodes/0/arguments/self", "z"), HasSubstr("\"z\" is no name of the graph"));
  EXPECT_THAT(with("/results", json::array()), HasSubstr("line"));
  EXPECT_THAT(json_error(R"({"format": "assay.graph/1", "graphs": [)" + std::string(100'000, '[')),
              HasSubstr("no assay.graph/1: "));
  std::string deep = right.dump();
  deep.replace(deep.find("\"x\""), 3, std::string(100'000, '[') + std::string(100'000, ']'));
  EXPECT_THAT(json_error(deep), HasSubstr("nested too deep"));
  // 2^63 is no int64.
  EXPECT_NE(with("/nodes/0", {{"results", {"y"}},
                              {"op", "softmax.int"},
                              {"arguments", {{"self", "x"}, {"dim", 9223372036854775808u}}}}),
            "");
}

TEST(GraphFile, HasSeveralGraphs) {
  const TemporaryFolder folder;
  const std::string file = folder.file("some.graph");
  write_file(
      file,
      "# }\nassay::a1(Tensor x) -> Tensor { relu(x) } # {\n\nassay::a2(Tensor x) -> Tensor {\n  gelu(x, approximate=\"none\")\n}\n# the end\n");
  const std::vector<std::string> texts = read_graphs(file);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(parse_graph(texts[0]).op.schema.name, "a1");
  EXPECT_EQ(parse_graph(texts[1]).op.schema.name, "a2");
  EXPECT_EQ(read_graphs("a(Tensor x) -> Tensor { x }; b(Tensor x) -> Tensor { x }").size(), 2u);
  write_file(file, "\n");
  EXPECT_THROW(read_graphs(file), GraphError);
  EXPECT_THROW(read_graphs(folder.file("none.graph")), FileError);
}

}  // namespace
}  // namespace assay

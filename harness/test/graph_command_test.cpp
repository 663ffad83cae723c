// Graphs on the command line: of plugins, of files, in case files; and what is said of wrong ones.
#include <map>

#include "command_line_fixture.h"
#include "reports/file.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFusedGraphs = R"(# Two of a transformer.
assay::swiglu(Tensor gate, Tensor up) -> Tensor { silu(gate) * up }

assay::add_rms_norm(Tensor x, Tensor residual, Tensor weight,
                    float eps) -> (Tensor, Tensor)
  shapes x=[*,K] residual=[*,K] weight=[K] -> [*,K], [*,K]
  domains eps: epsilon
{
  h = x + residual  # is kept for the next layer
  return h * rsqrt(mean(h * h, -1, true) + eps) * weight, h
}
)";

class CommandGraph : public CommandLine {
 protected:
  // Of rows such as "swiglu tail".
  std::map<std::string, std::string> verdicts(std::vector<std::string> words) const {
    for (const char* word :
         {"--impl", "plugin:*", "--dtype", "f32", "--cases", "40", "--shrink", "0", "--json"})
      words.emplace_back(word);
    words.push_back(file("run.json"));
    const Finished f = verify(words);
    EXPECT_EQ(f.status, 1) << f.out << f.err;
    std::map<std::string, std::string> all;
    const json run = this->run();
    for (const json& row : run["results"])
      all[row["op"].get<std::string>() + row["impl"].get<std::string>().replace(0, 7, " ")] = row["verdict"];
    return all;
  }
  json run() const { return json::parse(read_file(file("run.json"))); }
  // Of a failure of this kernel.
  std::string case_file(const std::string& op, const std::string& impl) const {
    const json run = this->run();
    for (const json& row : run["results"])
      if (row["op"] == op && row["impl"] == impl)
        for (const json& failure : row["failures"])
          if (failure["kind"] == "diverged") return failure["replay"];
    ADD_FAILURE() << op << " " << impl << " has no failure";
    return "";
  }
  std::string written(const std::string& name, const std::string& content) const {
    write_file(file(name), content);
    return file(name);
  }
  static Finished ops(const std::string& graph) { return assay({"ops", "--graph", graph}); }
};

const std::map<std::string, std::string> kFusedVerdicts{{"add_rms_norm outside", "diverged"},
                                                        {"add_rms_norm right", "pass"},
                                                        {"add_rms_norm tail", "diverged"},
                                                        {"add_rms_norm twice", "diverged"},
                                                        {"add_rms_norm unweighted", "diverged"},
                                                        {"swiglu exchanged", "diverged"},
                                                        {"swiglu right", "pass"},
                                                        {"swiglu sigmoid", "diverged"},
                                                        {"swiglu tail", "diverged"}};

// Schemas with bodies. A failure's file has the graph, so that another process needs nothing else.
TEST_F(CommandGraph, APluginBringsItsGraphs) {
  EXPECT_EQ(verdicts({"swiglu", "add_rms_norm", "--plugin", ASSAY_GRAPH_TEST_PLUGIN}), kFusedVerdicts);
  const std::string path = case_file("add_rms_norm", "plugin:outside");
  const Finished alone = assay({"replay", path, "--plugin", ASSAY_GRAPH_TEST_PLUGIN});
  EXPECT_EQ(alone.status, 1) << alone.out << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("plugin:outside"));
  const Finished right =
      assay({"replay", path, "--plugin", ASSAY_GRAPH_TEST_PLUGIN, "--impl", "plugin:right"});
  EXPECT_EQ(right.status, 0) << right.out << right.err;
}

// --graph alone says what is to be verified; the plugin's schemas name its graphs.
TEST_F(CommandGraph, AFileBringsGraphsForAPlugin) {
  EXPECT_EQ(
      verdicts({"--graph", written("fused.graph", kFusedGraphs), "--plugin", ASSAY_GRAPH_NAMED_TEST_PLUGIN}),
      kFusedVerdicts);
  // Without the file, the plugin's operators are unknown.
  const Finished without = verify({"--plugin", ASSAY_GRAPH_NAMED_TEST_PLUGIN, "relu"});
  EXPECT_EQ(without.status, 2) << without.out;
  EXPECT_THAT(without.err, HasSubstr("which Assay does not have"));
}

TEST_F(CommandGraph, IsAnOperatorForOps) {
  const Finished f = assay({"ops", "swiglu", "--graph", written("fused.graph", kFusedGraphs)});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, AllOf(HasSubstr("assay::swiglu(Tensor gate, Tensor up) -> Tensor"),
                           HasSubstr("silu(gate) * up")));
  EXPECT_THAT(f.out, Not(HasSubstr("add_rms_norm")));
  const Finished as_json = assay({"ops", "add_rms_norm", "--graph", file("fused.graph"), "--json", "-"});
  EXPECT_THAT(as_json.out, HasSubstr("x=[*,K] residual=[*,K] weight=[K] -> [*,K], [*,K]"));
}

TEST_F(CommandGraph, AWrongOneIsWrongUsageWithFileAndLine) {
  const std::string missing = written(
      "missing.graph", "# A comment.\n\nassay::f(Tensor x) -> Tensor\n{\n\n  h = relu(x)\n  rellu(h)\n}\n");
  expect_usage_error(
      ops(missing),
      "missing.graph: f needs operators that Assay does not have: rellu (line 7), perhaps relu");
  const std::string second = written(
      "second.graph", std::string(kFusedGraphs) + "\nassay::g(Tensor x) -> Tensor {\n  softmax(x)\n}\n");
  expect_usage_error(ops(second), "second.graph: g, line 14: softmax lacks dim");
  expect_usage_error(ops(written("schema.graph", "assay::f(Tensr x) -> Tensor { x }")),
                     "schema.graph: schema \"assay::f(Tensr x) -> Tensor\"");
  expect_usage_error(
      ops(written("shapes.graph", "assay::f(Tensor x) -> Tensor\n  shapes x=[* -> [*]\n{ relu(x) }")),
      "shapes.graph: f: ");
  expect_usage_error(
      ops(written("domains.graph", "assay::f(Tensor x, float e) -> Tensor\n  domains e: small\n{ x + e }")),
      "domains.graph: f: ");
  expect_usage_error(ops(written("empty.graph", "# nothing\n")), "empty.graph: there is no graph in it");
  expect_usage_error(ops(written("half.graph", "assay::f(Tensor x) -> Tensor {\n  relu(x)\n")),
                     "half.graph: f, line");
  expect_usage_error(ops(file("nowhere.graph")), "nowhere.graph");
  expect_usage_error(ops("assay::f(Tensor x) -> Tensor { relu(y) }"),
                     "f, line 1: \"y\" is no name of the graph, and no number");
  expect_usage_error(ops(written("wrong.json", "{\"format\": \"assay.graph/2\"}")),
                     "wrong.json: format is \"assay.graph/2\"");
}

TEST_F(CommandGraph, ANameStandsForOneGraph) {
  const std::string one = "assay::f(Tensor x) -> Tensor { relu(x) }";
  EXPECT_EQ(assay({"ops", "f", "--graph", one, "--graph", one + " # again"}).status, 0);
  expect_usage_error(
      assay({"ops", "f", "--graph", one, "--graph", "assay::f(Tensor x) -> Tensor { silu(x) }"}),
      "there is another graph \"f\" already");
  expect_usage_error(ops("assay::relu(Tensor x) -> Tensor { silu(x) }"),
                     "there is another operator \"relu\" already");
  // What the command line says, a plugin cannot say otherwise.
  const Finished f = verify({"--graph", "assay::swiglu(Tensor gate, Tensor up) -> Tensor { gelu(gate) * up }",
                             "--plugin", ASSAY_GRAPH_TEST_PLUGIN});
  EXPECT_EQ(f.status, 2) << f.out;
  EXPECT_THAT(f.err, HasSubstr("there is another graph \"swiglu\" already"));
}

TEST_F(CommandGraph, JsonIsRead) {
  const std::string path =
      written("fused.json",
              R"({"format": "assay.graph/1", "schema": "assay::swiglu(Tensor gate, Tensor up) -> Tensor",
    "nodes": [{"results": ["g"], "op": "silu", "arguments": {"self": "gate"}},
              {"results": ["y"], "op": "mul.Tensor", "arguments": {"self": "g", "other": "up"}}], "results": ["y"]})");
  const Finished f = verify({"--graph", path, "--cases", "10", "--dtype", "f32"});
  EXPECT_EQ(f.status, 3) << f.out << f.err;  // nothing has a kernel for it
  EXPECT_EQ(ops(path).status, 0);
}

// Shapes that the text says are demanded of calls.
TEST_F(CommandGraph, SaidShapesAreDemanded) {
  const std::string graph =
      "assay::f(Tensor x, Tensor w) -> Tensor\n  shapes x=[*,K] w=[K] -> [*,K]\n{ x * w }";
  EXPECT_EQ(assay({"bounds", "f:f32:x=2x3,w=3", "--graph", graph}).status, 0);
  expect_usage_error(assay({"bounds", "f:f32:x=2x3,w=2x3", "--graph", graph}), "w has shape [2x3]");
}

}  // namespace
}  // namespace assay

// Texts of graphs at the limits of what can be read, and what is said of those beyond.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "given.h"
#include "graph/graph_check.h"
#include "graph/graph_text.h"
#include "ops/activation.h"
#include "ops/binary.h"
#include "ops/functions.h"
#include "ops/mm.h"
#include "ops/sum.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

class GraphLimits : public ::testing::Test {
 protected:
  GraphLimits() {
    for (const Operator* op : {&ops::relu, &ops::exp, &ops::add_tensor, &ops::sub_tensor, &ops::mul_tensor,
                               &ops::mm, &ops::sum_dim_int_list})
      enrol_operator(*op);
  }
};

std::string said_of_text(std::string_view text) {
  try {
    read_graph(text);
  } catch (const GraphError& e) {
    return e.what();
  }
  return "";
}

// What a call with these matrices comes to, or what is wrong with it.
std::string result_of(std::string_view text, const Shape& x = {4, 6}) {
  const Graph& g = parse_graph(text);
  Given given;
  given.tensor(Dtype::f32, x);
  const Checked checked = check_arguments(g.op, given.values());
  return checked.ok() ? assay::text(checked.outputs[0].shape) : checked.error;
}

TEST_F(GraphLimits, NumbersThatNoShapeHas) {
  const auto of = [](std::string_view body) {
    return result_of(fmt::format("assay::l(Tensor x) -> Tensor {{ {} }}", body));
  };
  for (const char* body :
       {"transpose(x, 0, 999999999999999999)", "transpose(x, -9223372036854775808, 9223372036854775807)",
        "unsqueeze(x, 9223372036854775807)", "flatten(x, 9223372036854775807)", "flatten(x, 60)",
        "reshape(x, [4611686018427387904, 4])", "reshape(x, [1099511627776, 1099511627776, 0])",
        "split(expand(unsqueeze(x, 0), [1000000000, 4, 6]), 1)[3]",
        "expand(x, [9223372036854775807, 9223372036854775807, 4, 6])",
        "sum(x, [9223372036854775807, -9223372036854775808])", "select(x, 0, -9223372036854775808)",
        "permute(x, [9223372036854775807, 0])"})
    EXPECT_THAT(of(body), HasSubstr("in line 1")) << body;
  EXPECT_EQ(of("slice(x, 0, 1, -1, 9223372036854775807)"), "1x6");
  EXPECT_EQ(of("slice(x, 1, -9223372036854775808, 9223372036854775807, 4)"), "4x2");
  EXPECT_EQ(of("chunk(x, 9223372036854775807)[3]"), "1x6");
  EXPECT_EQ(of("split(x, 9223372036854775807)[0]"), "4x6");
  EXPECT_EQ(of("slice(reshape(x, [24]), 0, 3, none, 7)"), "3");
}

TEST_F(GraphLimits, LargeTextsEnd) {
  std::string chain = "assay::l(Tensor x) -> Tensor {";
  for (int k = 0; k < 999; ++k) chain += " x = x * x\n";
  EXPECT_EQ(result_of(chain + "x }"), "4x6");
  EXPECT_THAT(said_of_text(chain + "x + x + x }"), HasSubstr("more than 1000 operators"));
  // Nothing of it is an argument's: whom to blame is looked for once in each node.
  std::string powers = "assay::l(Tensor x) -> Tensor { a = exp(1.0)";
  for (int k = 0; k < 100; ++k) powers += "\n a = a * a";
  EXPECT_THAT(result_of(powers + "\n transpose(a, 0, 5) }"), HasSubstr("dim1"));
  EXPECT_THAT(said_of_text("assay::l(Tensor x) -> Tensor { " + std::string(100'000, '-') + "x }"),
              HasSubstr("nested too deep"));
  EXPECT_THAT(said_of_text(std::string(1'000'000, '\n')), HasSubstr("is no graph"));
}

TEST_F(GraphLimits, SchemasThatAGraphCannotHave) {
  const auto of = [](std::string_view schema) {
    return said_of_text(fmt::format("{} {{ relu(x) }}", schema));
  };
  EXPECT_EQ(of("assay::l(Tensor x) -> Tensor"), "");
  EXPECT_EQ(of("l(Tensor x) -> Tensor"), "");
  EXPECT_EQ(of("assay::l(Tensor x, Tensor x) -> Tensor"), "l: two arguments are called x");
  for (const char* name : {"none", "return", "f32", "true", "inf", "_"})
    EXPECT_EQ(of(fmt::format("assay::l(Tensor x, Tensor {}) -> Tensor", name)),
              fmt::format("l: an argument cannot be called {}", name));
  EXPECT_THAT(of("assay::l(Tensor(a!) x) -> Tensor"), HasSubstr("written to"));
  EXPECT_THAT(of("assay::l(Tensor x, int[999999999] k=1) -> Tensor"), HasSubstr("more than 100 numbers"));
  EXPECT_THAT(of("assay::l(Tensor x, int[99999999999] k=1) -> Tensor"), HasSubstr("too long"));
  EXPECT_THAT(of("assay::l(Tensor x, int k=a) -> Tensor"), HasSubstr("not an integer"));
  EXPECT_THAT(of("assay::l(Tensor? x) -> Tensor"), HasSubstr("an optional tensor"));
  EXPECT_THAT(of("assay::l(Tensor[] x) -> Tensor"), HasSubstr("a list of tensors"));
  EXPECT_THAT(of("assay::l(int x) -> Tensor"), HasSubstr("must be a tensor"));
  EXPECT_THAT(of("assay::l(Tensor x) -> int"), HasSubstr("each result"));
  EXPECT_THAT(of("assay::l(Tensor x) -> Tensor[]"), HasSubstr("each result"));
  EXPECT_THAT(of("a b::l(Tensor x) -> Tensor"), HasSubstr("is called as an operator is"));
}

TEST_F(GraphLimits, LinesAreThoseOfTheText) {
  EXPECT_EQ(
      said_of_text(
          "# a comment\n\nassay::l(Tensor x,\n  Tensor y) ->\n  Tensor\n  # another\n\n{\n\n  relu(z)\n}"),
      "l, line 10: \"z\" is no name of the graph, and no number");
  EXPECT_EQ(said_of_text("assay::l(Tensor x, Tensor y)\n  -> Tensor\n{ x }"), "");
  EXPECT_EQ(said_of_text("assay::l(Tensor x) -> Tensor\r\n{\r\n  relu(x)\r\n}\r\n"), "");
}

TEST_F(GraphLimits, ClausesAreChecked) {
  const auto of = [](std::string_view clause) {
    return said_of_text(fmt::format("assay::l(Tensor x) -> Tensor\n  {}\n{{ relu(x) }}", clause));
  };
  EXPECT_EQ(of("shapes x=[N,*] -> [N,*]"), "");
  EXPECT_THAT(of("shapes x=[N -> [N]"), HasSubstr("the shape rule is malformed"));
  EXPECT_THAT(of("shapes y=[N] -> [N]"), HasSubstr("no argument \"y\""));
  EXPECT_EQ(of("shapes x=[N] -> [M]"), "l: shapes \"x=[N] -> [M]\": no argument says M");
  EXPECT_THROW(parse_graph("assay::l(Tensor x, float e) -> Tensor\n  domains e: small\n{ x + e }"),
               GraphError);
  EXPECT_EQ(result_of("assay::l(Tensor x) -> Tensor\n  shapes x=[N,6] -> [N,6]\n{ relu(x) }"), "4x6");
  EXPECT_THAT(result_of("assay::l(Tensor x) -> Tensor\n  shapes x=[N,7] -> [N,7]\n{ relu(x) }"),
              HasSubstr("x has shape [4x6]"));
}

TEST_F(GraphLimits, TheLatestNameCounts) {
  const auto alone = read_graph("assay::l(Tensor x) -> Tensor { a = relu(x); a = 2; b = - -3; x * a + b }");
  EXPECT_EQ(alone->graph.nodes[1].arguments[1].from, GraphValue::From::number);
  EXPECT_EQ(std::get<std::int64_t>(alone->graph.nodes[1].arguments[1].literal), 2);
  EXPECT_EQ(std::get<std::int64_t>(alone->graph.nodes[2].arguments[1].literal), 3);
  EXPECT_THAT(said_of_text("assay::l(Tensor x) -> Tensor { none = relu(x); none }"),
              HasSubstr("\"none\" is a literal"));
}

}  // namespace
}  // namespace assay

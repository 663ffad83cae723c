#include "graph/graph.h"

#include <gtest/gtest.h>

#include "given.h"
#include "graph/graph_check.h"
#include "ops/activation.h"
#include "ops/binary.h"
#include "ops/amax.h"
#include "ops/convolution.h"
#include "ops/embedding.h"
#include "ops/functions.h"
#include "ops/layer_norm.h"
#include "ops/mm.h"
#include "ops/softmax.h"
#include "ops/sum.h"
#include "vocabulary/domain.h"
#include "vocabulary/operators.h"
#include "vocabulary/shape_rule.h"

namespace assay {
namespace {

class GraphTest : public ::testing::Test {
 protected:
  GraphTest() {
    for (const Operator* op :
         {&ops::silu, &ops::relu, &ops::add_tensor, &ops::sub_tensor, &ops::mul_tensor, &ops::div_tensor,
          &ops::mm, &ops::bmm, &ops::linear, &ops::softmax_int, &ops::mean_dim, &ops::rsqrt,
          &ops::convolution, &ops::native_layer_norm, &ops::addmm, &ops::argmax, &ops::embedding})
      enrol_operator(*op);
  }
};

std::string error_of(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const GraphError& e) {
    return e.what();
  }
  return "";
}

std::string_view shapes_of(std::string_view text) { return parse_graph(text).op.shapes; }

TEST_F(GraphTest, IsAnOperator) {
  const Graph& g = parse_graph("assay::swiglu(Tensor gate, Tensor up) -> Tensor { silu(gate) * up }");
  EXPECT_EQ(g.op.schema.name, "swiglu");
  EXPECT_EQ(g.op.schema.ns, "assay");
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].name, "silu");
  EXPECT_EQ(g.nodes[1].op, &ops::mul_tensor);
  EXPECT_EQ(g.op.formula, "silu(gate) * up");
  EXPECT_TRUE(g.op.properties & kElementwise);
  EXPECT_TRUE(g.op.dtypes == kFloatingPoint);
}

TEST_F(GraphTest, TheSameTextIsTheSameGraph) {
  const Graph& g = parse_graph("assay::g1(Tensor x) -> Tensor { relu(x) }");
  EXPECT_EQ(&parse_graph("assay::g1(Tensor x)   -> Tensor {\trelu(x) } # as before"), &g);
  EXPECT_NE(&parse_graph("assay::g1(Tensor x) -> Tensor { silu(x) }"), &g);
}

TEST_F(GraphTest, StatementsNamesAndResults) {
  const Graph& g = parse_graph(R"(assay::f(Tensor x, Tensor w, float eps=1e-6) -> (Tensor, Tensor)
  {
    # two results
    a, b = chunk(x, 2, -1); h = silu(a) * b
    s = [1, -1]
    y, _, rstd = native_layer_norm(h, normalized_shape=[8],
                                   weight=none, bias=none, eps=eps)
    return linear(y, w) + -0.5, rstd
  })");
  std::vector<std::string> names;
  for (const GraphNode& n : g.nodes) names.push_back(n.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "silu", "h", "y", "linear", "add"}));
  EXPECT_EQ(g.results[1].index, 3u);
  EXPECT_EQ(g.results[1].result, 2u);
  EXPECT_EQ(g.nodes[2].arguments[1].result, 1u);
  EXPECT_EQ(g.nodes[5].arguments[1].from, GraphValue::From::number);
  EXPECT_EQ(domain(g.op, "eps").kind, Domain::Kind::epsilon);
}

TEST_F(GraphTest, Precedence) {
  const Graph& g =
      parse_graph("assay::p(Tensor a, Tensor b, Tensor c) -> Tensor { a + b * c - (a - -b) / c }");
  std::vector<std::string_view> order;
  for (const GraphNode& n : g.nodes) order.push_back(n.schema().base);
  EXPECT_EQ(order, (std::vector<std::string_view>{"mul", "add", "mul", "sub", "div", "sub"}));
}

TEST_F(GraphTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor { relu(y) }"),
            "e, line 1: \"y\" is no name of the graph, and no number");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor {\n rellu(x)\n}"),
            "e needs operators that Assay does not have: rellu (line 2), perhaps relu");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor {\n a = pow(x, 2)\n b = pow(a, 3)\n cross(a, b)\n}"),
            "e needs operators that Assay does not have: cross (line 4), pow (line 2, 3)");
  EXPECT_EQ(error_of("assay::e(Tensor w, Tensor x) -> Tensor { embedding(w, argmax(x)) }"),
            "e, line 1: embedding: no operator of a graph can compute the integers of indices");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> (Tensor, Tensor) { relu(x) }"),
            "e, line 1: it has 1 result, but its schema says 2");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor { relu(x, x) }"),
            "e, line 1: relu has 1 arguments, not 2: relu(Tensor self) -> Tensor");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor { softmax(x, dim=\"a\") }"),
            "e, line 1: softmax: bad case text: dim is \"\"a\"\": not an integer");
  EXPECT_EQ(
      error_of("assay::e(Tensor x) -> Tensor { softmax(x) }"),
      "e, line 1: softmax lacks dim: softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor");
  EXPECT_EQ(
      error_of("assay::e(Tensr x) -> Tensor { relu(x) }"),
      "schema \"assay::e(Tensr x) -> Tensor\": character 10: there are Tensor, Scalar, int, float, bool, str, ScalarType and "
      "MemoryFormat");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor { a = relu(x) }"),
            "e, line 1: it says no results: the last line is an expression, or return x, y");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor { relu(x) } more"),
            "e, line 1: \"more\" stands after the end of the graph");
  EXPECT_EQ(error_of("assay::e(Tensor x) -> Tensor { relu(x"),
            "e, line 1: \")\" is expected, not the end of the text");
  EXPECT_NE(error_of("assay::e(Tensor x) -> Tensor { a, b = relu(x); a }"), "");
  EXPECT_NE(error_of("assay::e(Tensor[] x) -> Tensor { cat(x) }"), "");
  std::string deep = "assay::e(Tensor x) -> Tensor { ";
  for (int k = 0; k < 100'000; ++k) deep += "(";
  EXPECT_NE(error_of(deep), "");
}

TEST_F(GraphTest, ShapesAreWorkedOut) {
  EXPECT_EQ(shapes_of("assay::s1(Tensor a, Tensor b) -> Tensor { a * b }"), "a=[*]~ b=[*]~ -> [*]");
  EXPECT_EQ(shapes_of("assay::s2(Tensor a, Tensor b) -> Tensor { silu(a) * b }"), "a=[*] b=[*]~ -> [*]");
  EXPECT_EQ(shapes_of("assay::s3(Tensor x, Tensor w, Tensor v) -> Tensor { linear(relu(linear(x, w)), v) }"),
            "x=[*,N] w=[C,N] v=[K,C] -> [*,K]");
  EXPECT_EQ(
      shapes_of("assay::s4(Tensor x, Tensor w, Tensor b, Tensor r) -> Tensor { silu(linear(x, w, b)) + r }"),
      "x=[*,N] w=[C,N] b=[C] r=[*,C]~ -> [*,C]");
  EXPECT_EQ(
      shapes_of("assay::s5(Tensor x, Tensor g) -> Tensor { x * rsqrt(mean(x * x, -1, true) + 1e-6) * g }"),
      "x=[*,N] g=[*,N]~ -> [*,N]");
  EXPECT_EQ(
      shapes_of(
          "assay::s6(Tensor q, Tensor k, Tensor v) -> Tensor { bmm(softmax(bmm(q, transpose(k, -2, -1)) * 0.125, -1), v) }"),
      "q=[N,C,K] k=[N,M,K] v=[N,M,A] -> [N,C,A]");
  EXPECT_EQ(shapes_of("assay::s7(Tensor x) -> Tensor { softmax(flatten(x, 1), 1) }"),
            "x=[N,*] -> [edge(1,0,0,e0)]");
}

TEST_F(GraphTest, ShapesThatOnlyComputingTells) {
  const std::string_view rule = shapes_of(
      "assay::s8(Tensor x, Tensor w, Tensor r) -> Tensor { relu(convolution(x, w, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)) + r }");
  EXPECT_EQ(rule, "x=[N,C,K,M] w=[A,C,B<K,D<M] r=[N,A,edge(0,0,2,3),edge(0,0,3,4)] -> [edge(2,0,0,e0)]");
}

TEST_F(GraphTest, ChecksCallsNodeByNode) {
  const Graph& g =
      parse_graph("assay::c1(Tensor x, Tensor w, Tensor r) -> Tensor {\n h = linear(x, w)\n silu(h) + r\n}");
  const auto check = [&](const Given& given) { return check_arguments(g.op, given.values()); };
  const Checked right =
      check(Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f32, {5, 3}).tensor(Dtype::f32, {5}));
  ASSERT_TRUE(right.ok()) << right.error;
  ASSERT_EQ(right.outputs.size(), 1u);
  EXPECT_EQ(right.outputs[0].shape, (Shape{2, 5}));
  const Checked wrong =
      check(Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f32, {5, 4}).tensor(Dtype::f32, {5}));
  EXPECT_EQ(
      wrong.error,
      "c1, h in line 2: linear: weight has shape [5x4], but dimension 1 must be 3, the size of dimension 1 of input");
  EXPECT_EQ(wrong.argument, "w");
  const Checked other =
      check(Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f32, {5, 3}).tensor(Dtype::f32, {4}));
  EXPECT_EQ(other.argument, "r");
  // Broadcasting is what the nodes say, whatever the rule for making cases.
  EXPECT_TRUE(
      check(Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f32, {5, 3}).tensor(Dtype::f32, {7, 2, 5}))
          .ok());
  EXPECT_FALSE(
      check(Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f16, {5, 3}).tensor(Dtype::f32, {5})).ok());
  EXPECT_FALSE(check(Given().tensor(Dtype::f32, {2, 3}).integer(1).tensor(Dtype::f32, {5})).ok());
}

TEST_F(GraphTest, SaidShapesAndDomainsHold) {
  const Graph& g = parse_graph(R"(assay::d1(Tensor x, Tensor g, float eps) -> Tensor
    shapes x=[*,K] g=[K] -> [*,K]
    domains eps: epsilon
  { x * rsqrt(mean(x * x, -1, true) + eps) * g })");
  EXPECT_EQ(g.op.shapes, "x=[*,K] g=[K] -> [*,K]");
  EXPECT_EQ(domain(g.op, "eps").kind, Domain::Kind::epsilon);
  EXPECT_NE(error_of("assay::d2(Tensor x) -> Tensor\n shape x=[*] -> [*]\n{ relu(x) }"), "");
}

std::vector<Moved> moved(std::string_view name, const Given& given) {
  return find_movement(name)->move(given.values());
}
std::vector<std::int64_t> places(const Moved& m) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n < numel(m.shape); ++n) all.push_back(m.from(n).element);
  return all;
}

TEST(Movements, ViewsArePermutationsAndParts) {
  EXPECT_EQ(places(moved("transpose", Given().tensor(Dtype::f32, {2, 3}).integer(0).integer(-1))[0]),
            (std::vector<std::int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(places(moved("t", Given().tensor(Dtype::f32, {2, 3}))[0]),
            (std::vector<std::int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(moved("permute", Given().tensor(Dtype::f32, {2, 3, 4}).integers({2, 0, 1}))[0].shape,
            (Shape{4, 2, 3}));
  EXPECT_EQ(moved("reshape", Given().tensor(Dtype::f32, {2, 6}).integers({3, -1}))[0].shape, (Shape{3, 4}));
  EXPECT_EQ(moved("flatten", Given().tensor(Dtype::f32, {2, 3, 4}).integer(1).integer(-1))[0].shape,
            (Shape{2, 12}));
  EXPECT_EQ(moved("unsqueeze", Given().tensor(Dtype::f32, {2, 3}).integer(-1))[0].shape, (Shape{2, 3, 1}));
  EXPECT_EQ(moved("squeeze", Given().tensor(Dtype::f32, {2, 1}).integer(1))[0].shape, (Shape{2}));
  EXPECT_EQ(places(moved("expand", Given().tensor(Dtype::f32, {2, 1}).integers({-1, 3}))[0]),
            (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(
      places(moved("slice", Given().tensor(Dtype::f32, {6}).integer(0).integer(1).integer(-1).integer(2))[0]),
      (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(places(moved("select", Given().tensor(Dtype::f32, {2, 3}).integer(1).integer(-1))[0]),
            (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(places(moved("as_strided",
                         Given().tensor(Dtype::f32, {2, 3}).integers({2, 2}).integers({1, 3}).integer(1))[0]),
            (std::vector<std::int64_t>{1, 4, 2, 5}));
}

TEST(Movements, PiecesAndJoins) {
  const std::vector<Moved> pieces = moved("chunk", Given().tensor(Dtype::f32, {2, 5}).integer(2).integer(-1));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(places(pieces[0]), (std::vector<std::int64_t>{0, 1, 2, 5, 6, 7}));
  EXPECT_EQ(places(pieces[1]), (std::vector<std::int64_t>{3, 4, 8, 9}));
  EXPECT_EQ(moved("split", Given().tensor(Dtype::f32, {7}).integer(3).integer(0)).size(), 3u);
}

TEST(Movements, SayWhatDoesNotFit) {
  EXPECT_THROW(moved("reshape", Given().tensor(Dtype::f32, {2, 3}).integers({4, -1})), MovementError);
  EXPECT_THROW(moved("transpose", Given().tensor(Dtype::f32, {2, 3}).integer(0).integer(2)), MovementError);
  EXPECT_THROW(moved("permute", Given().tensor(Dtype::f32, {2, 3}).integers({0, 0})), MovementError);
  EXPECT_THROW(moved("select", Given().tensor(Dtype::f32, {2, 3}).integer(1).integer(3)), MovementError);
  EXPECT_THROW(moved("expand", Given().tensor(Dtype::f32, {2, 3}).integers({2, 4})), MovementError);
  // Outside of the tensor, which has six elements, or of a rank of its own.
  const auto part = [](std::vector<std::int64_t> size, std::vector<std::int64_t> stride,
                       std::int64_t offset) {
    return moved("as_strided",
                 Given().tensor(Dtype::f32, {2, 3}).integers(size).integers(stride).integer(offset));
  };
  EXPECT_NO_THROW(part({2}, {5}, 0));
  EXPECT_NO_THROW(part({0}, {5}, 0));
  EXPECT_THROW(part({2}, {6}, 0), MovementError);
  EXPECT_THROW(part({2}, {5}, 1), MovementError);
  EXPECT_THROW(part({2}, {1}, -1), MovementError);
  EXPECT_THROW(part({2}, {-1}, 5), MovementError);
  EXPECT_THROW(part({2}, {1, 1}, 0), MovementError);
  EXPECT_THROW(part({3}, {std::int64_t{1} << 62}, 0), MovementError);
}

}  // namespace
}  // namespace assay

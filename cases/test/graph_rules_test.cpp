// The rules that are worked out for graphs with windows, and what a graph leaves out because its tensors say it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "given.h"
#include "graph/graph.h"
#include "ops/activation.h"
#include "ops/binary.h"
#include "ops/convolution.h"
#include "ops/group_norm.h"
#include "ops/layer_norm.h"
#include "ops/max_pool2d.h"
#include "vocabulary/check.h"
#include "vocabulary/operators.h"
#include "vocabulary/shape_rule.h"
#include "vocabulary/size_of_tensors.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

class GraphRules : public ::testing::Test {
 protected:
  GraphRules() {
    for (const Operator* op : {&ops::relu, &ops::add_tensor, &ops::convolution, &ops::native_layer_norm,
                               &ops::native_group_norm, &ops::max_pool2d})
      enrol_operator(*op);
  }

  static std::string_view rule_of(std::string_view text) { return parse_graph(text).op.shapes; }
  static std::string wrong_with(std::string_view text) {
    try {
      parse_graph(text);
    } catch (const GraphError& e) {
      return e.what();
    }
    return "";
  }
  // A convolution of two dimensions with this padding.
  static std::string convolved(std::string_view x, std::string_view w, int padding) {
    return fmt::format("convolution({}, {}, none, [1, 1], [{}, {}], [1, 1], false, [0, 0], 1)", x, w, padding,
                       padding);
  }
};

TEST_F(GraphRules, ListsOfStridesSayHowManyDimensions) {
  EXPECT_EQ(rule_of(fmt::format("assay::g1(Tensor x, Tensor w) -> Tensor {{ {} }}", convolved("x", "w", 0))),
            "x=[N,C,K,M] w=[A,C,B<K,D<M] -> [edge(0,0,0,e0)]");
  EXPECT_EQ(
      rule_of(
          "assay::g2(Tensor x, Tensor w) -> Tensor { convolution(x, w, none, [2, 2, 2], [0], [1], true, [0], 1) }"),
      "x=[N,C,K,M,A] w=[C,B,D<K,E<M,F<A] -> [edge(0,0,0,e0)]");
  EXPECT_EQ(
      rule_of(
          "assay::g3(Tensor x, Tensor w) -> Tensor { convolution(x, w, none, [1], [0], [1], false, [0], 1) }"),
      "x=[N,C,+] w=[K,C,*Q<] -> [edge(0,0,0,e0)]");
}

// The second window lies in what the first one leaves of x.
TEST_F(GraphRules, WindowsOverWhatIsComputed) {
  EXPECT_EQ(
      rule_of(fmt::format(
          "assay::g4(Tensor x, Tensor w, Tensor v) -> Tensor {{ h = max_pool2d(relu({}), [2, 2])\n {} }}",
          convolved("x", "w", 0), convolved("h", "v", 0))),
      "x=[N,C,K,M] w=[A,C,B<K,D<M] v=[E,A,F<K,G<M] -> [edge(3,0,0,e0)]");
  EXPECT_EQ(rule_of("assay::g5(Tensor x, Tensor w, Tensor v) -> Tensor {\n"
                    "  h = convolution(x, w, none, [1], [0], [1], false, [0], 1)\n"
                    "  convolution(h, v, none, [1], [0], [1], false, [0], 1) }"),
            "x=[N,C,+] w=[K,C,*Q<] v=[M,K,*R<] -> [edge(1,0,0,e0)]");
  // The image comes first, wherever its argument stands.
  EXPECT_EQ(
      rule_of(
          "assay::g6(Tensor w, Tensor x) -> Tensor { convolution(x, w, none, [1], [0], [1], false, [0], 1) }"),
      "x=[N,C,+] w=[K,C,*Q<] -> [edge(0,0,0,e0)]");
}

TEST_F(GraphRules, ConvolutionsThatMeetKeepTheSizeOfTheirImage) {
  EXPECT_EQ(rule_of(fmt::format("assay::g7(Tensor x, Tensor w, Tensor v) -> Tensor {{ cat([{}, {}], 1) }}",
                                convolved("x", "w", 1), convolved("x", "v", 0))),
            "x=[N,C,K,M] w=[A,C,3,3] v=[B,C,1,1] -> [edge(2,0,0,e0)]");
  EXPECT_EQ(rule_of(fmt::format("assay::g8(Tensor x, Tensor w, Tensor v) -> Tensor {{ h = {}\n x + {} }}",
                                convolved("x", "w", 1), convolved("h", "v", 2))),
            "x=[N,C,K,M] w=[A,C,3,3] v=[C,A,5,5] -> [edge(2,0,0,e0)]");
}

// A layer norm writes down how large the result of the convolution before it is.
TEST_F(GraphRules, ImagesOfResultsThatAreWritten) {
  EXPECT_EQ(rule_of("assay::g12(Tensor x, Tensor w) -> Tensor {\n"
                    "  h = convolution(x, w, none, [2, 2], [1, 1], [1, 1], true, [0, 0], 1)\n"
                    "  native_layer_norm(h, [64], none, none, 1e-5)[0] }"),
            "x=[N,C,K,32] w=[C,M,A<K,4] -> [edge(1,0,0,e0)]");
}

TEST_F(GraphRules, WrittenRunsAreNoSecondRun) {
  EXPECT_EQ(
      rule_of("assay::g9(Tensor x, Tensor w) -> Tensor { native_layer_norm(x, [4, 5], w, none, 1e-5)[0] }"),
      "x=[*,4,5] w=[4,5] -> [*,4,5]");
}

TEST_F(GraphRules, SizesOfTensorsMayBeLeftOut) {
  const Operator& norm = ops::native_group_norm;
  for (const std::string_view name : {"N", "C", "HxW"})
    EXPECT_TRUE(is_size_of_tensors(norm, static_cast<std::size_t>(norm.schema.find(name)))) << name;
  EXPECT_FALSE(is_size_of_tensors(norm, static_cast<std::size_t>(norm.schema.find("group"))));
  const Graph& g = parse_graph(
      "assay::g10(Tensor x) -> Tensor { native_group_norm(x, none, none, group=2, eps=1e-5)[0] }");
  EXPECT_EQ(&g,
            &parse_graph(
                "assay::g10(Tensor x) -> Tensor { native_group_norm(x, none, none, group=2, eps=1e-5)[0] }"));
  for (const Shape& x : {Shape{3, 4, 5, 6}, Shape{1, 2}}) {
    const Given given = std::move(Given().tensor(Dtype::f32, x));
    const Checked checked = check_arguments(g.op, given.values());
    ASSERT_TRUE(checked.ok()) << checked.error;
    EXPECT_EQ(checked.outputs[0].shape, x);
  }
  Given odd;
  odd.tensor(Dtype::f32, {3, 5, 2});
  EXPECT_THAT(check_arguments(g.op, odd.values()).error,
              HasSubstr("dimension 1 must be a multiple of group, which is 2"));
  EXPECT_THAT(wrong_with("assay::g11(Tensor x) -> Tensor { native_group_norm(x, none, none, eps=1e-5)[0] }"),
              HasSubstr("native_group_norm lacks group"));
}

// Drawing a case would look for the run of the window.
TEST_F(GraphRules, WindowsInNothingAreMalformed) {
  const auto said = [&](std::string_view name, std::string_view rule) {
    return wrong_with(fmt::format("assay::{}(Tensor x, Tensor w) -> Tensor\n  shapes {}\n{{\n {} }}", name,
                                  rule, convolved("x", "w", 0)));
  };
  EXPECT_THAT(said("m1", "x=[N,C,+] w=[K,C,*Q<R] -> [edge(0,0,0,e0)]"),
              HasSubstr("no argument before it says the run of the window *Q<R"));
  EXPECT_THAT(said("m2", "w=[K,C,*Q<] x=[N,C,+] -> [edge(0,0,0,e0)]"), HasSubstr("the window *Q<"));
  EXPECT_THAT(said("m3", "x=[N,C,+] w=[K,C,*Q<Q] -> [edge(0,0,0,e0)]"), HasSubstr("the window *Q<Q"));
  EXPECT_THAT(said("m4", "x=[N,C,H,W] w=[K,C,R<Z,S<W] -> [edge(0,0,0,e0)]"), HasSubstr("the window R<Z"));
  EXPECT_THAT(said("m5", "x=[N,C,H,W] w=[K,C,R<R,S<W] -> [edge(0,0,0,e0)]"), HasSubstr("the window R<R"));
  EXPECT_EQ(said("m6", "x=[N,C,8,W] w=[K,C,R<8,S<W] -> [edge(0,0,0,e0)]"), "");
}

TEST_F(GraphRules, TooManyArgumentsAreCounted) {
  const auto with = [&](std::string_view name, std::size_t count) {
    std::string schema = fmt::format("assay::{}(Tensor x0", name);
    for (std::size_t k = 1; k < count; ++k) schema += fmt::format(", Tensor x{}", k);
    return wrong_with(schema + fmt::format(") -> Tensor {{ relu(x0) + x{} }}", count - 1));
  };
  EXPECT_EQ(with("full", kMaxArguments), "");
  EXPECT_EQ(with("many", kMaxArguments + 1),
            fmt::format("assay::many: it has {} arguments and 1 results, but {} and 5 are the most",
                        kMaxArguments + 1, kMaxArguments));
}

}  // namespace
}  // namespace assay

#include "vocabulary/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "given.h"
#include "ops/batch_norm.h"
#include "ops/binary.h"
#include "ops/group_norm.h"
#include "ops/mm.h"
#include "ops/prelu.h"
#include "ops/softmax.h"
#include "ops/sum.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

TEST(Check, GivesTheResultsShapeAndDtype) {
  const Checked c = Given().tensor(Dtype::bf16, {2, 3}).tensor(Dtype::bf16, {3, 5}).check(ops::mm);
  ASSERT_TRUE(c.ok()) << c.error;
  EXPECT_EQ(c.outputs[0].shape, (Shape{2, 5}));
  EXPECT_EQ(c.outputs[0].dtype, Dtype::bf16);
}

TEST(Check, NamesTheArgumentTheValueAndWhatItShouldBe) {
  const Checked c = Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f32, {4, 5}).check(ops::mm);
  EXPECT_EQ(c.argument, "mat2");
  EXPECT_EQ(c.fault, Checked::Fault::shape);
  EXPECT_EQ(c.error, "mm: mat2 has shape [4x5], but dimension 0 must be 3, the size of dimension 1 of self");
}

TEST(Check, TellsThatAlternativesExist) {
  const Checked c = Given().tensor(Dtype::f32, {2, 6, 5}).tensor(Dtype::f32, {5}).check(ops::prelu);
  EXPECT_EQ(c.argument, "weight");
  EXPECT_THAT(c.error, HasSubstr("weight has shape [5]"));
}

TEST(Check, TakesEachAlternative) {
  EXPECT_TRUE(Given().tensor(Dtype::f32, {2, 6, 5}).tensor(Dtype::f32, {6}).check(ops::prelu).ok());
  EXPECT_TRUE(Given().tensor(Dtype::f32, {2, 6, 5}).tensor(Dtype::f32, {1}).check(ops::prelu).ok());
  EXPECT_TRUE(Given().tensor(Dtype::f32, {}).tensor(Dtype::f32, {1}).check(ops::prelu).ok());
  EXPECT_FALSE(Given().tensor(Dtype::f32, {2, 6}).tensor(Dtype::f32, {6, 1}).check(ops::prelu).ok());
}

TEST(Check, BroadcastsAndPromotes) {
  Checked c =
      Given().tensor(Dtype::bf16, {3, 1}).tensor(Dtype::f16, {2, 1, 4}).integer(1).check(ops::add_tensor);
  ASSERT_TRUE(c.ok()) << c.error;
  EXPECT_EQ(c.outputs[0].shape, (Shape{2, 3, 4}));
  EXPECT_EQ(c.outputs[0].dtype, Dtype::f32);
  // A zero-dimensional tensor of the same kind yields.
  c = Given().tensor(Dtype::bf16, {3}).tensor(Dtype::f64, {}).integer(1).check(ops::add_tensor);
  EXPECT_EQ(c.outputs[0].dtype, Dtype::bf16);
  c = Given().tensor(Dtype::f32, {3}).tensor(Dtype::f32, {4}).integer(1).check(ops::add_tensor);
  EXPECT_THAT(c.error, HasSubstr("other has shape [4], but cannot be broadcast with shape [3] of self"));
}

TEST(Check, BroadcastsToWhatTheOthersSay) {
  const auto addmm = [](Shape self) {
    return Given()
        .tensor(Dtype::f32, std::move(self))
        .tensor(Dtype::f32, {2, 3})
        .tensor(Dtype::f32, {3, 5})
        .integer(1)
        .integer(1)
        .check(ops::addmm);
  };
  for (const Shape& self : {Shape{2, 5}, Shape{5}, Shape{2, 1}, Shape{1, 5}, Shape{1}, Shape{}}) {
    const Checked c = addmm(self);
    ASSERT_TRUE(c.ok()) << c.error;
    EXPECT_EQ(c.outputs[0].shape, (Shape{2, 5}));
  }
  EXPECT_THAT(addmm({3}).error, HasSubstr("self has shape [3], but must broadcast to [2x5]"));
  EXPECT_FALSE(addmm({1, 2, 5}).ok());
  EXPECT_FALSE(addmm({4, 5}).ok());
}

TEST(Check, BoundsAnAxis) {
  EXPECT_TRUE(Given().tensor(Dtype::f32, {2, 3}).integer(-2).none().check(ops::softmax_int).ok());
  EXPECT_TRUE(Given().tensor(Dtype::f32, {}).integer(0).none().check(ops::softmax_int).ok());
  const Checked c = Given().tensor(Dtype::f32, {2, 3}).integer(2).none().check(ops::softmax_int);
  EXPECT_EQ(c.error, "softmax.int: dim is 2, but self has 2 dimensions: it must be from -2 to 1");
  EXPECT_EQ(c.fault, Checked::Fault::attribute);
}

TEST(Check, TakesTheDtypeArgument) {
  const Checked c = Given().tensor(Dtype::bf16, {2}).integer(0).dtype(Dtype::f64).check(ops::softmax_int);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c.outputs[0].dtype, Dtype::f64);
  EXPECT_FALSE(Given().tensor(Dtype::bf16, {2}).integer(0).dtype(Dtype::i32).check(ops::softmax_int).ok());
}

constexpr Operator layers{
    .schema = parse_schema(
        "layers(Tensor input, int[] normalized_shape, Tensor? weight, float eps) -> (Tensor, Tensor)"),
    .shapes = "normalized_shape=[+M] input=[*,*M] weight=[*M] -> [*,*M], [*,1*M]"};

TEST(Check, KnowsRunsOfDimensions) {
  const auto layer = [](Shape input, std::vector<std::int64_t> list, Shape weight) {
    return Given()
        .tensor(Dtype::f32, std::move(input))
        .integers(std::move(list))
        .tensor(Dtype::f32, std::move(weight))
        .real(1e-5)
        .check(layers);
  };
  const Checked c = layer({2, 3, 4, 5}, {4, 5}, {4, 5});
  ASSERT_TRUE(c.ok()) << c.error;
  EXPECT_EQ(c.outputs[0].shape, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(c.outputs[1].shape, (Shape{2, 3, 1, 1}));
  EXPECT_EQ(layer({4, 5}, {4, 5}, {4, 5}).outputs[1].shape, (Shape{1, 1}));
  EXPECT_EQ(layer({2, 3}, {}, {}).error,
            "layers: normalized_shape is [], but must have at least 1 dimension");
  EXPECT_EQ(layer({2, 3, 4}, {4, 3}, {4, 3}).error,
            "layers: input has shape [2x3x4], but its dimensions [3x4] must be [4x3] of normalized_shape");
  EXPECT_EQ(layer({4}, {3, 4}, {3, 4}).error,
            "layers: input has shape [4], but must have at least 2 dimensions");
  const Checked weight = layer({2, 3, 4}, {4}, {3});
  EXPECT_EQ(weight.error, "layers: weight has shape [3], but must have shape [4] of normalized_shape");
  EXPECT_EQ(weight.argument, "weight");
}

constexpr Operator gradient_of_layers{
    .schema =
        parse_schema("gradient_of_layers(SymInt[] normalized_shape, Tensor grad, Tensor mean) -> Tensor"),
    .shapes = "normalized_shape=[+M] grad=[*,*M] mean=[*,1*M] -> [*,*M]"};

// A 1 for each dimension of the run, however many these are.
TEST(Check, TakesOnesInPlaceOfARun) {
  const auto check = [](const std::vector<std::int64_t>& normalized, const Shape& mean) {
    return Given()
        .integers(normalized)
        .tensor(Dtype::f32, {2, 3, 4})
        .tensor(Dtype::f32, mean)
        .check(gradient_of_layers);
  };
  EXPECT_TRUE(check({4}, {2, 3, 1}).ok()) << check({4}, {2, 3, 1}).error;
  EXPECT_TRUE(check({3, 4}, {2, 1, 1}).ok()) << check({3, 4}, {2, 1, 1}).error;
  EXPECT_TRUE(check({2, 3, 4}, {1, 1, 1}).ok()) << check({2, 3, 4}, {1, 1, 1}).error;
  const Checked wide = check({3, 4}, {2, 1, 4});
  EXPECT_EQ(wide.error, "gradient_of_layers: mean has shape [2x1x4], but dimension 2 must be 1");
  EXPECT_EQ(wide.argument, "mean");
  EXPECT_EQ(check({3, 4}, {2, 1}).argument, "mean");
  EXPECT_EQ(check({3, 4}, {3, 1, 1}).argument, "mean");
}

constexpr Operator groups{
    .schema = parse_schema("groups(Tensor input, Tensor? weight, int C, int HxW, int group) -> Tensor"),
    .shapes = "input=[N,C,*] weight=[C] C=C HxW=|*| -> [N,C,*]",
    .domains = "weight: given; group: divisor(C)"};

TEST(Check, BindsNumbers) {
  const auto group = [](std::int64_t c, std::int64_t hw, std::int64_t n) {
    return Given()
        .tensor(Dtype::f32, {2, 6, 3, 5})
        .tensor(Dtype::f32, {6})
        .integer(c)
        .integer(hw)
        .integer(n)
        .check(groups);
  };
  EXPECT_TRUE(group(6, 15, 3).ok()) << group(6, 15, 3).error;
  EXPECT_EQ(group(5, 15, 1).error, "groups: C is 5, but must be 6, the size of dimension 1 of input");
  EXPECT_EQ(group(6, 14, 1).error,
            "groups: HxW is 14, but must be 15, the number of elements of [3x5] of input");
  EXPECT_EQ(group(6, 15, 4).error, "groups: group is 4, but must be positive and divide C, which is 6");
  EXPECT_FALSE(group(6, 15, 0).ok());
  EXPECT_EQ(Given().tensor(Dtype::f32, {1, 1}).none().integer(1).integer(1).integer(1).check(groups).error,
            "groups: weight is None, but must be given");
}

TEST(Check, BindsNumbersToProducts) {
  const auto group = [](std::int64_t n, std::int64_t c, std::int64_t parts, std::int64_t weights = 6) {
    return Given()
        .tensor(Dtype::f32, {2, 6, 3, 5})
        .tensor(Dtype::f32, {weights})
        .none()
        .integer(n)
        .integer(c)
        .integer(15)
        .integer(parts)
        .real(0.5)
        .check(ops::native_group_norm);
  };
  const Checked right = group(2, 6, 3);
  ASSERT_TRUE(right.ok()) << right.error;
  EXPECT_EQ(right.outputs[0].shape, (Shape{2, 6, 3, 5}));
  EXPECT_EQ(right.outputs[1].shape, (Shape{2, 3}));
  EXPECT_EQ(group(2, 7, 3).error,
            "native_group_norm: C is 7, but must be 6, the size of dimension 1 of input");
  EXPECT_EQ(group(1, 6, 3).error,
            "native_group_norm: N is 1, but must be 2, the size of dimension 0 of input");
  EXPECT_EQ(group(2, 6, 0).error, "native_group_norm: group is 0, but must be positive");
  EXPECT_EQ(
      group(2, 6, 4).error,
      "native_group_norm: input has shape [2x6x3x5], but dimension 1 must be a multiple of group, which is 4");
  EXPECT_EQ(group(2, 6, 3, 5).argument, "weight");
}

TEST(Check, GivenUnlessIsNoneWhereTheOtherIsTrue) {
  const auto norm = [](bool training, bool statistics) {
    Given g;
    g.tensor(Dtype::f32, {2, 6, 3}).none().none();
    for (int k = 0; k < 2; ++k) {
      if (statistics)
        g.tensor(Dtype::f32, {6});
      else
        g.none();
    }
    return g.boolean(training).real(0.1).real(0.5).check(ops::native_batch_norm);
  };
  const Checked inference = norm(false, true), trained = norm(true, false);
  ASSERT_TRUE(inference.ok()) << inference.error;
  EXPECT_EQ(inference.outputs[1].shape, (Shape{0}));
  ASSERT_TRUE(trained.ok()) << trained.error;
  EXPECT_EQ(trained.outputs[2].shape, (Shape{6}));
  EXPECT_EQ(norm(false, false).error,
            "native_batch_norm: running_mean is None, but must be given where training is false");
  EXPECT_EQ(norm(true, true).error,
            "native_batch_norm: running_mean has shape [6], but must be None where training is true");
}

constexpr Operator modes{
    .schema = parse_schema("modes(Tensor input, bool training, bool[2] mask) -> (Tensor, Tensor)"),
    .shapes = "training=true input=[N,C] -> [N,C], [C]; training=false input=[N,C] -> [N,C], [0]",
    .domains = "mask: mask"};

TEST(Check, TakesAlternativesByFlags) {
  const auto mode = [](bool training, std::int64_t mask) {
    return Given()
        .tensor(Dtype::f32, {2, 6})
        .boolean(training)
        .integers({1, mask}, ASSAY_KIND_BOOLS)
        .check(modes);
  };
  EXPECT_EQ(mode(true, 1).outputs[1].shape, (Shape{6}));
  EXPECT_EQ(mode(false, 1).outputs[1].shape, (Shape{0}));
  EXPECT_EQ(mode(true, 0).outputs[0].shape, (Shape{2, 6}));
  EXPECT_EQ(mode(true, 0).outputs[1].shape, (Shape{0}));
}

constexpr Operator owned{
    .schema = parse_schema("owned(Tensor input, Tensor? weight, bool[2] mask) -> (Tensor, Tensor)"),
    .shapes = "input=[N,C] weight=[C] -> [N,C], [C]",
    .domains = "mask: mask(input, weight)"};

TEST(Check, AMaskAsksForNoResultOfAnArgumentThatIsNone) {
  const auto with = [](std::int64_t of_input, std::int64_t of_weight) {
    return Given()
        .tensor(Dtype::f32, {2, 6})
        .none()
        .integers({of_input, of_weight}, ASSAY_KIND_BOOLS)
        .check(owned);
  };
  EXPECT_EQ(with(1, 1).error, "owned: mask asks for the result of weight, which is None");
  ASSERT_TRUE(with(1, 0).ok());
  EXPECT_EQ(with(1, 0).outputs[1].shape, (Shape{0}));
  EXPECT_TRUE(Given()
                  .tensor(Dtype::f32, {2, 6})
                  .tensor(Dtype::f32, {6})
                  .integers({0, 1}, ASSAY_KIND_BOOLS)
                  .check(owned)
                  .ok());
}

TEST(Check, IntegersWantIntegerScalarsAndStayIntegers) {
  const auto add = [](Dtype a, Dtype b) { return std::move(Given().tensor(a, {2}).tensor(b, {2})); };
  EXPECT_EQ(add(Dtype::i8, Dtype::u8).integer(2).check(ops::add_tensor).outputs[0].dtype, Dtype::i16);
  EXPECT_EQ(add(Dtype::i8, Dtype::i8).real(0.5).check(ops::add_tensor).error,
            "add.Tensor: alpha is 0.5, but must be an integer where the result is of i8");
  EXPECT_TRUE(add(Dtype::i8, Dtype::f16).real(0.5).check(ops::add_tensor).ok());

  const auto sum = [](Dtype self, std::optional<Dtype> dtype) {
    Given given;
    given.tensor(self, {2}).none().boolean(false);
    if (dtype)
      given.dtype(*dtype);
    else
      given.none();
    return given.check(ops::sum_dim_int_list);
  };
  EXPECT_EQ(sum(Dtype::u8, {}).outputs[0].dtype, Dtype::i64);
  EXPECT_EQ(sum(Dtype::u8, Dtype::i16).outputs[0].dtype, Dtype::i16);
  EXPECT_EQ(sum(Dtype::u8, Dtype::f32).outputs[0].dtype, Dtype::f32);
  EXPECT_EQ(sum(Dtype::f32, Dtype::i16).error,
            "sum.dim_IntList: dtype is i16, which only tensors of integers are converted to, not one of f32");
}

constexpr Operator place{
    .schema = parse_schema("place(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor"),
    .positions = 1,
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: filled_axes(self)"};

TEST(Check, ComputesWhatAReductionLeaves) {
  const auto reduced = [](Shape self, std::vector<std::int64_t> dim, bool keep) {
    return Given().tensor(Dtype::bf16, std::move(self)).integers(std::move(dim)).boolean(keep).check(place);
  };
  EXPECT_EQ(reduced({2, 3, 4}, {1}, false).outputs[0].shape, (Shape{2, 4}));
  EXPECT_EQ(reduced({2, 3, 4}, {-1, 0}, false).outputs[0].shape, (Shape{3}));
  EXPECT_EQ(reduced({2, 3, 4}, {-1, 0}, true).outputs[0].shape, (Shape{1, 3, 1}));
  EXPECT_EQ(reduced({2, 3, 4}, {}, false).outputs[0].shape, Shape{});
  EXPECT_EQ(reduced({}, {-1}, true).outputs[0].shape, Shape{});
  EXPECT_EQ(Given().tensor(Dtype::f32, {2, 3}).none().boolean(true).check(place).outputs[0].shape,
            (Shape{1, 1}));
  EXPECT_EQ(reduced({2}, {0}, false).outputs[0].dtype, Dtype::i64);
  EXPECT_EQ(reduced({2}, {0}, false).outputs[0].computed_in, Dtype::bf16);

  EXPECT_EQ(reduced({2, 3}, {0, 2}, false).error,
            "place: dim is 2, but self has 2 dimensions: it must be from -2 to 1");
  EXPECT_EQ(reduced({2, 3}, {1, -1}, false).error, "place: dim names dimension 1 twice");
  const Checked empty = reduced({0, 3}, {}, false);
  EXPECT_EQ(empty.error, "place: self has shape [0x3], but dimension 0 must have elements");
  EXPECT_EQ(empty.argument, "self");
  EXPECT_TRUE(reduced({0, 3}, {1}, false).ok());

  // More dimensions than a word has bits.
  Shape many(70, 1);
  many[66] = 5;
  EXPECT_EQ(reduced(many, {66}, false).outputs.at(0).shape, Shape(69, 1));
  EXPECT_EQ(reduced(many, {2, 66}, false).outputs.at(0).shape, Shape(68, 1));
  EXPECT_EQ(reduced(many, {66, -4}, false).error, "place: dim names dimension 66 twice");
  many[66] = 0;
  EXPECT_TRUE(reduced(many, {2}, false).ok());
  EXPECT_THAT(reduced(many, {66}, false).error, HasSubstr("but dimension 66 must have elements"));
}

TEST(Check, ComputesHowManyElementsThereAre) {
  static constexpr Operator flat{.schema = parse_schema("flat(Tensor self) -> Tensor"),
                                 .shapes = "self=[*] -> [numel(*)]"};
  const auto shape = [](Shape self) {
    return Given().tensor(Dtype::f32, std::move(self)).check(flat).outputs[0].shape;
  };
  EXPECT_EQ(shape({2, 3, 4}), Shape{24});
  EXPECT_EQ(shape({}), Shape{1});
  EXPECT_EQ(shape({3, 0, 4}), Shape{0});
}

TEST(Check, RefusesMalformedShapeRules) {
  const auto says = [](std::string_view shapes, std::string_view what) {
    Operator op{.schema = parse_schema("toy(Tensor self, int[] list, int n, bool flag) -> Tensor")};
    op.shapes = shapes;
    // Rules are kept by the text of their schema.
    const std::string text(shapes);
    op.schema.text = text;
    try {
      shape_rule(op);
      ADD_FAILURE() << shapes;
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr(std::string(what))) << shapes;
    }
  };
  says("self=[*] -> [shrunk(*)]", "there is no function \"shrunk\"");
  says("self=[*] -> [reduced(*,dim)]", "reduced has 3 operands");
  says("self=[reduced(*,a,b)]~ -> [*]", "computed dimensions of what broadcasts");
  says("self=[*] flag=maybe -> [*]", "expected true or false");
  says("self=[99999999999999999999] -> [1]", "\"99999999999999999999\" is no number");
  says("self=[2d] -> [1]", "\"2d\" is no number");
  says("self=[*] n=|* -> [*]", "expected \"|\"");
  says("self=[*] other=[*] -> [*]", "the schema has no argument \"other\"");
}

TEST(Check, RefusesOtherDtypesAndKinds) {
  Checked c = Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f64, {3, 2}).check(ops::mm);
  EXPECT_EQ(c.error, "mm: mat2 has dtype f64, but self has f32");
  EXPECT_EQ(c.fault, Checked::Fault::dtype);
  c = Given().tensor(Dtype::boolean, {2, 3}).tensor(Dtype::boolean, {3, 2}).check(ops::mm);
  EXPECT_EQ(c.argument, "self");
  c = Given().tensor(Dtype::f32, {2, 3}).integer(3).check(ops::mm);
  EXPECT_EQ(c.fault, Checked::Fault::arguments);
  c = Given().tensor(Dtype::f32, {2, 3}).check(ops::mm);
  EXPECT_THAT(c.error, HasSubstr("1 arguments given"));
}

TEST(ShapeRule, RefusesMalformedRules) {
  Operator op = ops::mm;
  const auto broken = [&](std::string_view schema, std::string_view shapes) {
    op.schema.text = schema;  // the cache is by schema text
    op.shapes = shapes;
    EXPECT_THROW(shape_rule(op), std::invalid_argument) << shapes;
  };
  broken("1", "self=[M,K");
  broken("2", "nobody=[M] -> [M]");
  broken("3", "self=[M] mat2=[K]");
  broken("4", "self=[M] -> [M], [M]");
  broken("5", "self=[M] -> [M] and more");
}

}  // namespace
}  // namespace assay

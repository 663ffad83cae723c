#include "vocabulary/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "ops/add.h"
#include "ops/mm.h"
#include "ops/prelu.h"
#include "ops/softmax.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// Arguments without data, but where one is asked for.
class Given {
 public:
  // `data` is a single dimension without gaps.
  Given& tensor(Dtype d, Shape shape, void* data = nullptr) {
    shapes_.push_back(std::move(shape));
    Shape& s = shapes_.back();
    tensors_.push_back({data,
                        {ASSAY_CPU, 0},
                        static_cast<int>(s.size()),
                        info(d).dlpack,
                        s.data(),
                        data == nullptr ? s.data() : &one_,
                        0});
    assay_value v{ASSAY_KIND_TENSOR, 1, {}};
    v.as.tensor = &tensors_.back();
    values_.push_back(v);
    return *this;
  }
  Given& integer(std::int64_t i) {
    assay_value v{ASSAY_KIND_INT, 1, {}};
    v.as.integer = i;
    values_.push_back(v);
    return *this;
  }
  Given& string(const char* s) {
    assay_value v{ASSAY_KIND_STRING, 1, {}};
    v.as.string = s;
    values_.push_back(v);
    return *this;
  }
  Given& none() {
    values_.push_back({ASSAY_KIND_NONE, 0, {}});
    return *this;
  }
  Given& dtype(Dtype d) {
    assay_value v{ASSAY_KIND_DTYPE, 1, {}};
    v.as.dtype = info(d).dlpack;
    values_.push_back(v);
    return *this;
  }
  Checked check(const Operator& op) const { return check_arguments(op, values_); }

 private:
  std::int64_t one_ = 1;
  std::deque<Shape> shapes_;
  std::deque<assay_tensor> tensors_;
  std::vector<assay_value> values_;
};

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

TEST(Check, RefusesOtherDtypesAndKinds) {
  Checked c = Given().tensor(Dtype::f32, {2, 3}).tensor(Dtype::f64, {3, 2}).check(ops::mm);
  EXPECT_EQ(c.error, "mm: mat2 has dtype f64, but self has f32");
  EXPECT_EQ(c.fault, Checked::Fault::dtype);
  c = Given().tensor(Dtype::i32, {2, 3}).tensor(Dtype::i32, {3, 2}).check(ops::mm);
  EXPECT_EQ(c.argument, "self");
  c = Given().tensor(Dtype::f32, {2, 3}).integer(3).check(ops::mm);
  EXPECT_EQ(c.fault, Checked::Fault::arguments);
  c = Given().tensor(Dtype::f32, {2, 3}).check(ops::mm);
  EXPECT_THAT(c.error, HasSubstr("1 arguments given"));
}

constexpr Operator choice{
    .schema = parse_schema(
        "choice(Tensor mask, Tensor self, str mode, Scalar? least=None, Scalar? most=None) -> Tensor"),
    .dtype_rule = DtypeRule::promote,
    .shapes = "mask=[*]~ self=[*]~ -> [*]",
    .domains = "mask: boolean; mode: one_of(none, up) ; most: real unless least",
};

TEST(Check, TakesBooleansStringsAndOneOfTwoNumbers) {
  const auto check = [](Dtype mask, const char* mode, bool least, bool most) {
    Given g;
    g.tensor(mask, {2}).tensor(Dtype::f32, {}).string(mode);
    least ? g.integer(1) : g.none();
    most ? g.integer(1) : g.none();
    return g.check(choice);
  };
  const Checked c = check(Dtype::boolean, "up", true, true);
  ASSERT_TRUE(c.ok()) << c.error;
  EXPECT_EQ(c.outputs[0].dtype, Dtype::f32);  // the mask has no say in it
  EXPECT_TRUE(check(Dtype::boolean, "none", false, true).ok());
  EXPECT_TRUE(check(Dtype::boolean, "none", true, false).ok());
  EXPECT_EQ(check(Dtype::boolean, "none", false, false).error,
            "choice: most is None, which it may only be where least is given");
  EXPECT_EQ(check(Dtype::boolean, "down", true, true).error,
            "choice: mode is \"down\", but must be one of none, up");
  EXPECT_EQ(check(Dtype::f32, "up", true, true).error, "choice: mask has dtype f32, but must be bool");
}

constexpr Operator table{.schema = parse_schema("table(Tensor weight, Tensor indices) -> Tensor"),
                         .shapes = "weight=[N,D] indices=[*] -> [*,D]",
                         .domains = "indices: index(weight)"};

TEST(Check, LooksAtIndicesWhereThereIsData) {
  const auto check = [](Dtype dtype, std::int64_t rows, std::vector<std::int64_t> indices) {
    std::vector<std::byte> memory(indices.size() * static_cast<std::size_t>(bytes(dtype)));
    for (std::size_t k = 0; k < indices.size(); ++k)
      store_integer(memory.data() + k * static_cast<std::size_t>(bytes(dtype)), dtype, indices[k]);
    Given g;
    g.tensor(Dtype::f32, {rows, 2}).tensor(dtype, {static_cast<std::int64_t>(indices.size())}, memory.data());
    return g.check(table);
  };
  for (const Dtype dtype : {Dtype::i64, Dtype::i32}) {
    const Checked c = check(dtype, 3, {0, 2, 1});
    ASSERT_TRUE(c.ok()) << c.error;
    EXPECT_EQ(c.outputs[0].dtype, Dtype::f32);
    EXPECT_EQ(c.outputs[0].shape, (Shape{3, 2}));
    EXPECT_EQ(check(dtype, 3, {0, 3, 1}).error,
              "table: indices has the index 3, but weight has 3 rows: it must be from 0 to 2");
    EXPECT_EQ(check(dtype, 1, {0, 0, -1}).error,
              "table: indices has the index -1, but weight has 1 row: it must be from 0 to 0");
  }
  EXPECT_EQ(check(Dtype::i16, 3, {0}).error, "table: indices has dtype i16, but must be i64 or i32");
  EXPECT_EQ(check(Dtype::i64, 0, {0}).error, "table: indices has shape [1], but weight has no rows");
  EXPECT_TRUE(check(Dtype::i64, 0, {}).ok());
  // Without data, as where cases are made, no index is wrong.
  EXPECT_TRUE(Given().tensor(Dtype::f32, {3, 2}).tensor(Dtype::i64, {4}).check(table).ok());
}

TEST(Domain, IsParsedOrRefused) {
  const Domain mode = domain(choice, "mode");
  EXPECT_EQ(mode.kind, Domain::Kind::one_of);
  EXPECT_EQ(mode.choices, (std::vector<std::string_view>{"none", "up"}));
  const Domain most = domain(choice, "most");
  EXPECT_EQ(most.kind, Domain::Kind::real);
  EXPECT_EQ(most.unless, 3);
  EXPECT_EQ(domain(choice, "self").kind, Domain::Kind::any);
  Operator op = choice;
  op.domains = "mode: two_of(none, up)";
  EXPECT_THROW(domain(op, "mode"), std::invalid_argument);
}

TEST(Ranges, AreParsedOrRefused) {
  Operator op = choice;
  op.ranges = "self: -104..89, 0.5..1 ; mask: 0..1";
  const std::vector<Range> of_self = ranges(op, "self");
  ASSERT_EQ(of_self.size(), 2u);
  EXPECT_EQ(of_self[0].least, -104);
  EXPECT_EQ(of_self[0].greatest, 89);
  EXPECT_EQ(of_self[1].least, 0.5);
  EXPECT_EQ(of_self[1].greatest, 1);
  EXPECT_TRUE(ranges(op, "mode").empty());
  for (const char* malformed : {"self: 1", "self: 1..", "self: 1..2x", "self: 1...2"}) {
    op.ranges = malformed;
    EXPECT_THROW(ranges(op, "self"), std::invalid_argument) << malformed;
  }
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

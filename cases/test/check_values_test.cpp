// The argument check where it looks at values, and the texts that say which ones are allowed.
#include <gtest/gtest.h>

#include "given.h"

namespace assay {
namespace {

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

constexpr Operator share{.schema = parse_schema("share(Tensor self, int n, int? divisor=None) -> Tensor"),
                         .shapes = "self=[*] -> [*]",
                         .domains = "n: integer; divisor: nonzero"};

TEST(Check, AnIntegerMayHaveToDifferFromZero) {
  const auto error = [](std::int64_t n, std::int64_t divisor) {
    return Given().tensor(Dtype::f32, {2}).integer(n).integer(divisor).check(share).error;
  };
  EXPECT_EQ(error(0, -3), "");
  EXPECT_EQ(error(1, 0), "share: divisor is 0, which it must not be");
  EXPECT_TRUE(Given().tensor(Dtype::f32, {2}).integer(0).none().check(share).ok());
}

constexpr Operator quotient{
    .schema = parse_schema("quotient(Tensor self, Tensor other, Scalar factor, str? mode) -> Tensor"),
    .dtypes = kFloatingPoint | kArithmeticIntegers,
    .in_integers = true,
    .dtype_rule = DtypeRule::promote,
    .shapes = "self=[*]~ other=[*]~ -> [*]",
    .domains = "other: nonzero; factor: real; mode: one_of(trunc, floor) for integers"};

TEST(Check, IntegersAreNotDividedByZero) {
  const auto error = [](Dtype self, Dtype other, std::vector<std::int64_t> divisors) {
    std::vector<std::byte> memory(8 * divisors.size());
    for (std::size_t k = 0; k < divisors.size(); ++k)
      store_integer(memory.data() + k * static_cast<std::size_t>(bytes(other)), other, divisors[k]);
    Given g;
    g.tensor(self, {2, static_cast<std::int64_t>(divisors.size())})
        .tensor(other, {static_cast<std::int64_t>(divisors.size())}, memory.data());
    return g.integer(1).string("trunc").check(quotient).error;
  };
  for (const Dtype d : {Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8}) {
    EXPECT_EQ(error(d, d, {1, -1, 127}), "");
    EXPECT_EQ(error(d, d, {1, -1, 0}),
              "quotient: other has an element 0, by which no " + std::string(name(d)) + " is divided");
  }
  EXPECT_EQ(error(Dtype::f32, Dtype::i32, {1, 0}), "");
  // Where dtypes are promoted, what counts is the number in the result's.
  std::int64_t wide = 256;
  EXPECT_EQ(Given()
                .tensor(Dtype::u8, {2})
                .tensor(Dtype::i64, {}, &wide)
                .integer(1)
                .string("floor")
                .check(quotient)
                .error,
            "quotient: other has an element 0, by which no u8 is divided");
}

TEST(Check, IntegersNeedAModeAndNumbersOfTheirRange) {
  const auto check = [](Dtype d, std::int64_t factor, bool mode) {
    Given g;
    g.tensor(d, {2}).tensor(d, {2}).integer(factor);
    return (mode ? g.string("trunc") : g.none()).check(quotient).error;
  };
  EXPECT_EQ(check(Dtype::f32, 1000, false), "");
  EXPECT_EQ(check(Dtype::i16, 1, false),
            "quotient: mode is None, but must be given where the result is of i16");
  EXPECT_EQ(check(Dtype::i8, 127, true), "");
  EXPECT_EQ(check(Dtype::i8, -128, true), "");
  EXPECT_EQ(check(Dtype::i8, 128, true), "quotient: factor is 128, which is beyond i8");
  EXPECT_EQ(check(Dtype::i8, -129, true), "quotient: factor is -129, which is beyond i8");
  EXPECT_EQ(check(Dtype::u8, -255, true), "");  // 1, as in ATen
  EXPECT_EQ(check(Dtype::u8, -256, true), "quotient: factor is -256, which is beyond u8");
  EXPECT_EQ(check(Dtype::i64, INT64_MIN, true), "");
  EXPECT_EQ(check(Dtype::i64, INT64_MAX, true), "");
}

constexpr Operator copy{
    .schema = parse_schema("copy(Tensor self, MemoryFormat? memory_format=None) -> Tensor"),
    .shapes = "self=[*] -> [*]",
    .domains = "memory_format: format(self)"};

TEST(Check, AMemoryFormatNeedsItsNumberOfDimensions) {
  const auto check = [](Shape shape, std::int64_t format) {
    Given g;
    g.tensor(Dtype::f32, std::move(shape)).integer(format, ASSAY_KIND_MEMORY_FORMAT);
    return g.check(copy);
  };
  EXPECT_TRUE(check({2, 3, 4, 5}, ASSAY_CHANNELS_LAST).ok());
  EXPECT_TRUE(check({2, 3, 4, 5, 6}, ASSAY_CHANNELS_LAST_3D).ok());
  EXPECT_TRUE(check({2}, ASSAY_PRESERVE_FORMAT).ok());
  EXPECT_TRUE(check({}, ASSAY_CONTIGUOUS_FORMAT).ok());
  EXPECT_TRUE(Given().tensor(Dtype::f32, {2}).none().check(copy).ok());
  EXPECT_EQ(check({2, 3, 4}, ASSAY_CHANNELS_LAST).error,
            "copy: memory_format is channels_last, which needs 4 dimensions, but self has 3");
  EXPECT_EQ(check({2, 3, 4, 5}, ASSAY_CHANNELS_LAST_3D).error,
            "copy: memory_format is channels_last_3d, which needs 5 dimensions, but self has 4");
  EXPECT_EQ(check({2}, 4).fault, Checked::Fault::arguments);
}

constexpr Operator steps{
    .schema = parse_schema("steps(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor"),
    .dtypes = only(Dtype::u8) | only(Dtype::i8),
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [*]",
    .domains = "self: dtypes(f32); scale: scale; zero_point: zero_point(dtype); dtype: dtype"};

TEST(Check, AZeroPointIsOneOfTheDtypesNumbersAndAScaleIsPositive) {
  const auto check = [](Dtype self, double scale, std::int64_t zero_point, Dtype dtype) {
    Given g;
    g.tensor(self, {2}).real(scale).integer(zero_point).dtype(dtype);
    return g.check(steps);
  };
  const Checked c = check(Dtype::f32, 0.5, 255, Dtype::u8);
  ASSERT_TRUE(c.ok()) << c.error;
  EXPECT_EQ(c.outputs[0].dtype, Dtype::u8);
  EXPECT_TRUE(check(Dtype::f32, 0.5, -128, Dtype::i8).ok());
  EXPECT_EQ(check(Dtype::f32, 0.5, 256, Dtype::u8).error,
            "steps: zero_point is 256, but u8 reaches from 0 to 255");
  EXPECT_EQ(check(Dtype::f32, 0.5, 128, Dtype::i8).error,
            "steps: zero_point is 128, but i8 reaches from -128 to 127");
  EXPECT_EQ(check(Dtype::f32, 0, 0, Dtype::u8).error, "steps: scale is 0, but must be positive");
  EXPECT_EQ(check(Dtype::f64, 1, 0, Dtype::u8).error, "steps: self has dtype f64, but must be f32");
  EXPECT_EQ(check(Dtype::f32, 1, 0, Dtype::i16).error,
            "steps: dtype is i16, which steps does not compute in");
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

constexpr Operator planes{.schema = parse_schema("planes(Tensor self, Tensor places) -> Tensor"),
                          .shapes = "self=[N,H,W] places=[N] -> [N]",
                          .domains = "places: place(self)"};

TEST(Check, LooksAtPlacesInPlanes) {
  const auto check = [](Shape self, std::vector<std::int64_t> places) {
    Given g;
    g.tensor(Dtype::f32, std::move(self))
        .tensor(Dtype::i64, {static_cast<std::int64_t>(places.size())},
                reinterpret_cast<std::byte*>(places.data()));
    return g.check(planes);
  };
  EXPECT_TRUE(check({2, 3, 4}, {0, 11}).ok());
  EXPECT_EQ(check({2, 3, 4}, {0, 12}).error,
            "planes: places has the index 12, but a plane of self has 12 places: it must be from 0 to 11");
  EXPECT_EQ(check({2, 1, 1}, {-1, 0}).error,
            "planes: places has the index -1, but a plane of self has 1 place: it must be from 0 to 0");
  EXPECT_EQ(check({2, 3, 0}, {0, 0}).error, "planes: places has shape [2], but self has no places");
  EXPECT_TRUE(check({0, 3, 0}, {}).ok());
  EXPECT_EQ(Given().tensor(Dtype::f32, {2, 3, 4}).tensor(Dtype::i32, {2}).check(planes).error,
            "planes: places has dtype i32, but must be i64");
  EXPECT_EQ(domain(planes, "places").choices_of(Shape{2, 3, 4}), 12);
  EXPECT_EQ(domain(table, "indices").choices_of(Shape{2, 3, 4}), 2);
}

TEST(Domain, IsParsedOrRefused) {
  const Domain mode = domain(choice, "mode");
  EXPECT_EQ(mode.kind, Domain::Kind::one_of);
  EXPECT_EQ(mode.choices, (std::vector<std::string_view>{"none", "up"}));
  const Domain most = domain(choice, "most");
  EXPECT_EQ(most.kind, Domain::Kind::real);
  EXPECT_EQ(most.unless, 3);
  EXPECT_FALSE(most.for_integers);
  EXPECT_TRUE(domain(quotient, "mode").for_integers);
  EXPECT_EQ(domain(quotient, "mode").choices, (std::vector<std::string_view>{"trunc", "floor"}));
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

}  // namespace
}  // namespace assay

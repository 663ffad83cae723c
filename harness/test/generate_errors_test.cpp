#include "harness/generate/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "generate_fixture.h"
#include "harness/generate/check_case.h"
#include "harness/generate/data.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

TEST(GenerateErrors, EveryErrorIsRejectedForTheArgumentAndValueItNames) {
  toys::each_row([](const Operator& op, Dtype dtype) {
    for (std::uint64_t i = 0; i < effort(150u, 15u); ++i) {
      const InvalidCase e = generate_error(op, dtype, 4, i);
      const Call call = materialise(e.invalid);
      ASSERT_FALSE(call.error.empty()) << text(e.invalid);
      ASSERT_EQ(call.blamed, e.argument) << text(e.invalid);
      ASSERT_THAT(call.error, HasSubstr(e.argument));
      ASSERT_THAT(call.error, HasSubstr(e.value));
      ASSERT_FALSE(e.value.empty());
      ASSERT_EQ(parse_case(text(e.invalid)), e.invalid) << text(e.invalid);
    }
  });
}

TEST(GenerateErrors, ExactlyOneArgumentIsBroken) {
  toys::each_row([](const Operator& op, Dtype dtype) {
    for (std::uint64_t i = 0; i < effort(150u, 15u); ++i) {
      const InvalidCase e = generate_error(op, dtype, 4, i);
      ASSERT_TRUE(check_case(e.valid).ok()) << text(e.valid);
      std::size_t different = e.invalid.data == e.valid.data ? 0 : 1;  // an index is data
      for (std::size_t k = 0; k < e.valid.arguments.size(); ++k)
        different += text(e.valid.arguments[k]) == text(e.invalid.arguments[k]) ? 0 : 1;  // NaN is NaN
      ASSERT_EQ(different, 1u) << text(e.invalid);
    }
  });
}

TEST(GenerateErrors, EveryKindOfErrorIsReached) {
  std::map<std::string, int> seen;
  toys::all();
  for (std::uint64_t i = 0; i < effort(500u, 150u); ++i) {
    ++seen["choice " + generate_error(toys::choice, Dtype::f32, 0, i).broken];
    ++seen["copy " + generate_error(toys::copy, Dtype::i8, 0, i).broken];
    ++seen["steps " + generate_error(toys::steps, Dtype::u8, 0, i).broken];
    ++seen["table " + generate_error(toys::table, Dtype::f32, 0, i).broken];
    ++seen["mm " + generate_error(ops::mm, Dtype::f32, 0, i).broken];
    ++seen["add " + generate_error(ops::add_tensor, Dtype::f32, 0, i).broken];
    ++seen["integers " + generate_error(ops::add_tensor, Dtype::i16, 0, i).broken];
    ++seen["quotient " + generate_error(ops::div_tensor_mode, Dtype::i16, 0, i).broken];
    ++seen["softmax " + generate_error(ops::softmax_int, Dtype::f32, 0, i).argument];
    ++seen["prelu " + generate_error(ops::prelu, Dtype::f32, 0, i).argument];
    ++seen["groups " + generate_error(toys::groups, Dtype::f32, 0, i).broken];
    ++seen["place " + generate_error(toys::place, Dtype::f32, 0, i).broken];
  }
  for (const char* wanted : {"mm another size",
                             "mm another number of dimensions",
                             "mm dimensions in another order",
                             "mm a dtype that the operator does not take",
                             "mm another dtype than the other tensors",
                             "table an index out of range",
                             "copy a memory format of another number of dimensions",
                             "steps a zero point out of range",
                             "choice a string that is no choice",
                             "choice None for two of which one must be given",
                             "add another size",
                             "add dimensions in another order",
                             "integers a real number where integers are computed",
                             "integers a number beyond the integers that are computed",
                             "quotient None where integers are computed",
                             "quotient zero where that is not allowed",
                             "softmax self",
                             "softmax dim",
                             "softmax dtype",
                             "prelu self",
                             "prelu weight",
                             "groups a number that is no size of the tensors",
                             "groups a number of groups that leaves a rest",
                             "place an axis out of range",
                             "place an axis that is named twice"})
    EXPECT_GE(seen[wanted], effort(10, 1)) << wanted;
}

TEST(GenerateErrors, AnErrorIsAFunctionOfSeedAndIndex) {
  const InvalidCase a = generate_error(ops::mm, Dtype::f32, 9, 5);
  generate_error(ops::mm, Dtype::f32, 9, 6);
  EXPECT_EQ(generate_error(ops::mm, Dtype::f32, 9, 5).invalid, a.invalid);
}

TEST(GenerateErrors, TheCallSaysWhatIsWrongAndHasNoOutputs) {
  const InvalidCase e = generate_error(ops::mm, Dtype::f32, 0, 3);
  const Call call = materialise(e.invalid);
  EXPECT_EQ(call.blamed, e.argument);
  EXPECT_THAT(call.error, HasSubstr(e.value));
  EXPECT_TRUE(call.outputs.empty());
  EXPECT_TRUE(call.output_layouts.empty());
}

}  // namespace
}  // namespace assay

// Which cases are too large to be made.
#include "harness/generate/case_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/generate/check_case.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const Case& c, std::span<const Checked::Output> outputs) {
  try {
    check_size(c, outputs);
  } catch (const CaseError& e) {
    return e.what();
  }
  return "no error";
}
std::string refusal_of(const std::string& text) {
  const Case c = parse_case(text);
  return refusal_of(c, check_case(c).outputs);
}

TEST(GenerateSize, WhatLiesBeforeATensorCounts) {
  EXPECT_EQ(refusal_of("relu:f32:self=[2]@offset(8)"), "no error");
  EXPECT_THAT(refusal_of("relu:f32:self=[2]@offset(1000000000000)"),
              HasSubstr("self is f32[2]: the case needs"));
}

TEST(GenerateSize, EveryElementOfWhatIsExpandedCounts) {
  EXPECT_EQ(refusal_of("sum.dim_IntList:f32:self=[8]@expanded(0),dim=none"), "no error");
  EXPECT_THAT(refusal_of("sum.dim_IntList:f32:self=[1000000000000]@expanded(0),dim=none"),
              HasSubstr("self is f32[1000000000000]: the case needs"));
}

TEST(GenerateSize, NoSizeIsNegative) {
  const Case c = parse_case("relu:f32:self=2");
  const std::vector<Checked::Output> outputs{{Dtype::f32, {2, -3}, Dtype::f32}};
  EXPECT_EQ(refusal_of(c, outputs), "the output out is f32[2x-3]: a size is negative");
}

}  // namespace
}  // namespace assay

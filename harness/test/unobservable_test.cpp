// What operators say that nobody can tell from a right kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fnmatch.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/generate/paths.h"
#include "harness/selftest/path_trial.h"
#include "harness/variants/unobservable.h"
#include "harness/variants/variant.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Operator with(std::string_view unobservable) {
  Operator op{.schema = parse_schema("halved(Tensor self) -> Tensor"), .shapes = "self=[*] -> [*]"};
  op.unobservable = unobservable;
  return op;
}

TEST(Unobservable, AreVariantsWithAReasonForTheirDtypes) {
  const Operator op =
      with("results.sign_lost: it is never negative; self.*_as_zero (f16  bf16) : of 2^-10, it is 0 ;");
  EXPECT_EQ(unobservable(op, "results.sign_lost", Dtype::f64), "it is never negative");
  EXPECT_EQ(unobservable(op, "results.sign_lost.too", Dtype::f64), "");
  EXPECT_EQ(unobservable(op, "self.small_as_zero", Dtype::bf16), "of 2^-10, it is 0");
  EXPECT_EQ(unobservable(op, "self.small_as_zero", Dtype::f32), "");
  EXPECT_EQ(unobservable(with(""), "results.sign_lost", Dtype::f32), "");
}

TEST(Unobservable, SaysWhatIsMalformed) {
  const auto error = [](std::string_view text) -> std::string {
    try {
      excuses_of(with(text));
    } catch (const std::logic_error& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_THAT(error("self.clipped"), AllOf(HasSubstr("halved: "), HasSubstr("no reason in 'self.clipped'")));
  EXPECT_THAT(error("self.clipped: "), HasSubstr("no reason"));
  EXPECT_THAT(error("(f16): it is"), HasSubstr("no variant"));
  EXPECT_THAT(error("a: b;; c: d"), HasSubstr("no reason in ''"));
  EXPECT_THAT(error("self.clipped (f16: it is"), HasSubstr("no ')'"));
  EXPECT_THAT(error("self.clipped (): it is"), HasSubstr("no dtype"));
  EXPECT_THAT(error("self.clipped (f17): it is"), HasSubstr("no dtype 'f17'"));
  EXPECT_THAT(error("self.clipped (i32): it is"), HasSubstr("no dtype 'i32'"))
      << "the operator has no integers";
}

// An excuse for nothing hides a name that was mistyped.
TEST(Unobservable, AreVariantsThatThereAre) {
  std::size_t count = 0;
  for (const Operator* op : operators()) {
    std::vector<std::string> names;
    for (const Variant& v : variants_of(*op)) names.push_back(v.name);
    for (const Path& path : paths_of(*op, std::nullopt))
      for (const PathFault& fault : kPathFaults) names.push_back(path_variant(fault, path));
    for (const Excuse& e : excuses_of(*op)) {
      ++count;
      EXPECT_TRUE(std::ranges::any_of(
          names, [&](const std::string& name) { return ::fnmatch(e.variant.c_str(), name.c_str(), 0) == 0; }))
          << op->schema.name << " has no " << e.variant;
    }
  }
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace assay

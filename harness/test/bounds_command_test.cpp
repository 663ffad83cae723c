// assay bounds
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "command_line_fixture.h"
#include "harness/generate/data.h"
#include "harness/judge/sharpness.h"
#include "vocabulary/case.h"
#include "vocabulary/reference.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class BoundsCommand : public CommandLine {};

const std::string kNorm =
    "native_layer_norm:f32:input=4x256,normalized_shape=[256],weight=none,bias=none,eps=1e-05:data=normal:seed=1";

TEST_F(BoundsCommand, LooserContractsSeeLess) {
  const Finished f =
      assay({"bounds", kNorm, "--mean", "0", "--mean", "30", "--contract", "strict", "--contract",
             "chain=partial(16)", "--contract", "moments=updating", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json rows = json::parse(f.out)["rows"];
  ASSERT_EQ(rows.size(), 6u);
  for (std::size_t of_mean = 0; of_mean < 6; of_mean += 3) {
    const auto seen = [&](std::size_t k) { return rows[of_mean + k]["seen"].get<double>(); };
    EXPECT_EQ(rows[of_mean]["mean"], of_mean == 0 ? 0 : 30);
    EXPECT_LT(seen(1), seen(0) / 4) << "partial sums are shorter";
    EXPECT_GT(seen(2), seen(0));
    for (std::size_t k = 0; k < 3; ++k) {
      const json& row = rows[of_mean + k];
      EXPECT_LE(row["errs"], row["attacked"]);
      EXPECT_LT(row["attacked"], row["seen"]) << row << "no kernel that keeps to it is called wrong";
      EXPECT_GT(row["errs"], 0);
    }
  }
}

// What moments.md promises: of two passes and partial sums, 200 times the error of a plain kernel; of moments
// by updating, 1,000 times; and without updating, four times what the worst kernel does.
TEST(Sharpness, OfNormalisationsIsAsPromised) {
  for (const double mean : {0.0, 3.0, 30.0}) {
    Call call = materialise(parse_case(
        "native_layer_norm:f32:input=8x768,normalized_shape=[768],weight=768,bias=768,eps=1e-05:data=normal:seed=1"));
    auto& x = std::get<TensorData>(call.arguments[0]);
    for (std::int64_t i = 0; i < x.numel(); ++i) x.set(i, x.get(i) + mean);
    const auto of = [&](const char* fields) {
      return sharpness(call, 0, parse_contract(std::string(fields) + " -- test", Dtype::f32));
    };
    for (const char* fields : {"chain=partial(16)", "chain=partial(16) affine=folded"}) {
      const Sharpness s = of(fields);
      EXPECT_LT(s.seen, 200 * s.errs) << mean << " " << fields;
      EXPECT_LT(s.seen, 4.5 * s.attacked) << mean << " " << fields;
    }
    const Sharpness updating = of("chain=partial(16) moments=updating affine=folded");
    EXPECT_LT(updating.seen, 1000 * updating.errs) << mean;
  }
}

// An error of the size that is seen is a fault in every element that was looked at.
TEST(Sharpness, AnErrorOfThatSizeIsOutside) {
  const Call call = materialise(parse_case("mm:f32:self=3x100,mat2=100x4:data=normal:seed=2"));
  const Sharpness s = sharpness(call, 0, {});
  EXPECT_EQ(s.elements, 12u);
  EXPECT_EQ(s.undecidable, 0u);
  const Arguments arguments(call);
  const auto evaluation = find_reference("mm")->evaluate(arguments.values(), call.outputs);
  for (std::int64_t e = 0; e < 12; ++e) {
    const Interval i = evaluation->interval(0, e, {});
    EXPECT_FALSE(i.contains(i.value + 1.0001 * s.seen)) << e;
    EXPECT_FALSE(i.contains(i.value - 1.0001 * s.seen)) << e;
  }
}

TEST_F(BoundsCommand, SaysWhatItCannotTell) {
  expect_usage_error(assay({"bounds", "add.Tensor:i32:self=3,other=3"}), "no floating-point numbers");
  expect_usage_error(assay({"bounds", kNorm, "--contract", "chain=partial(0)"}), "at least one partial sum");
  expect_usage_error(assay({"bounds", "mm:f32:self=2x3,mat2=2x3"}), "mat2");
  expect_usage_error(assay({"bounds", kNorm, "--mean", "nan"}), "must be a finite number");
}

TEST_F(BoundsCommand, LeavesOutWhatChangesNothing) {
  const Finished f =
      assay({"bounds", "relu:f32:self=10", "--contract", "strict", "--contract", "moments=updating"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, HasSubstr("strict"));
  EXPECT_EQ(f.out.find("moments=updating"), std::string::npos) << f.out;
}

}  // namespace
}  // namespace assay

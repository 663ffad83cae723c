// A row whose failures have several causes shows each of them.
#include "command_line_fixture.h"
#include "diagnose_experiment.h"
#include "harness/diagnose/explains.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OtherCauses : public CommandLine {};

TEST_F(OtherCauses, AreReportedBesideTheFirst) {
  const Finished f = verify({"relu", "--plugin", ASSAY_TWO_FAULTS_TEST_PLUGIN, "--impl", "plugin:*",
                             "--dtype", "f32", "--cases", "250", "--json", file("run.json")});
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_THAT(f.out, HasSubstr("self.as_bf16"));
  EXPECT_THAT(f.out, HasSubstr("self.dimension_0_reversed"));
  const json row = json::parse(std::ifstream(file("run.json")))["results"][0];
  int first = 0, other = 0, on_the_way_out = 0;
  for (const json& failure : row["failures"]) {
    const auto said = failure["diagnosis"].get<std::string>();
    first += said.find("self.as_bf16") != std::string::npos ? 1 : 0;
    other += said.find("self.dimension_0_reversed") != std::string::npos ? 1 : 0;
    // What the plugin does, which only -0 beside a rounded number tells from the first.
    on_the_way_out += said.starts_with("stores results through bf16") ? 1 : 0;
  }
  EXPECT_EQ(first, 3);
  EXPECT_GE(other, 1);
  EXPECT_LE(other, 3);
  EXPECT_EQ(row["failures"].size(), static_cast<std::size_t>(first + other + on_the_way_out));
}

TEST(Explains, SaysWhetherAKnownCauseIsTrueOfACall) {
  diagnose::Experiment e("relu:f32:self=4x33:data=normal:seed=1");
  e.fill([&](std::int64_t i) { return std::max(0.0, e.tensor(0).get((3 - i / 33) * 33 + i % 33)); });
  diagnose::Evidence evidence(e.call, {}, {e.result.packed()});
  EXPECT_EQ(diagnose::explains("self.dimension_0_reversed", evidence), true);
  EXPECT_EQ(diagnose::explains("self.as_bf16", evidence), false);
  EXPECT_EQ(diagnose::explains("self.dimension_0_reversed + self.as_bf16", evidence), false);
  EXPECT_EQ(diagnose::explains("nobody knows it", evidence), std::nullopt);
}

}  // namespace
}  // namespace assay

// `assay verify --contract` and what becomes of it: case files, replay, run files, fixtures; and what is said of rows that pass by
// what their kernels declare alone.
#include <algorithm>

#include "command_line_fixture.h"
#include "reports/file.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandContract : public CommandLine {
 protected:
  // The plugin's kernel that declares nonfinite=unspecified signed_zero=ignore, and needs both.
  Finished loose(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--impl", "plugin:loose", "--dtype", "f32",
                 "--cases", "100", "--shrink", "0", "--json", file("run.json")});
    return verify(more);
  }
  json run() const { return json::parse(read_file(file("run.json"))); }
};

TEST_F(CommandContract, JudgesByOtherFieldsThanAreDeclared) {
  const Finished declared = loose({});
  EXPECT_EQ(declared.status, 0) << declared.out;
  EXPECT_FALSE(run().contains("contract"));

  const Finished strict = loose({"--contract", "strict"});
  EXPECT_EQ(strict.status, 1) << strict.out;
  EXPECT_THAT(strict.out,
              HasSubstr("Kernels were judged by --contract \"strict\", which overrides what they declare."));
  EXPECT_EQ(run()["contract"], "strict");
  EXPECT_EQ(run()["results"][0]["verdict"], "diverged");

  // Fields that are not named stay.
  const Finished zeros = loose({"--contract", "signed_zero=strict"});
  EXPECT_EQ(zeros.status, 1) << zeros.out;
  const json of_zeros = run();
  for (const json& failure : of_zeros["results"][0]["failures"])
    EXPECT_THAT(failure["detail"].get<std::string>(), Not(HasSubstr("must be NaN"))) << failure;
  EXPECT_EQ(loose({"--contract", "strict signed_zero=ignore nonfinite=unspecified"}).status, 0);
  // Our own kernels are judged by it, too.
  EXPECT_EQ(
      verify({"relu", "--impl", "cpu.baseline", "--dtype", "f32", "--cases", "24", "--contract", "strict"})
          .status,
      0);
}

TEST_F(CommandContract, IsKeptByCaseFiles) {
  ASSERT_EQ(loose({"--contract", "nonfinite=propagate"}).status, 1);
  const json failure = run()["results"][0]["failures"][0];
  const std::string path = failure["replay"];
  EXPECT_EQ(failure["contract"], "nonfinite=propagate");
  const auto replay = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"replay", path, "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--json", file("replay.json")});
    return assay(more);
  };
  const Finished same = replay({});
  EXPECT_EQ(same.status, 1) << same.out;
  EXPECT_THAT(same.out, HasSubstr("judged by --contract \"nonfinite=propagate\""));
  const json call = json::parse(read_file(file("replay.json")))["calls"][0];
  EXPECT_EQ(call["recorded"]["judged_by"], "nonfinite=propagate");
  EXPECT_EQ(call["contract"], "nonfinite=propagate");
  // The same of other kernels, and another contract in its place.
  EXPECT_EQ(replay({"--impl", "plugin:right"}).status, 0);
  const Finished other = replay({"--contract", "nonfinite=unspecified"});
  EXPECT_EQ(other.status, 0) << other.out;
  EXPECT_EQ(json::parse(read_file(file("replay.json")))["calls"][0]["contract"], "nonfinite=unspecified");
}

// What was recorded of others is judged by it as what runs is.
TEST_F(CommandContract, JudgesFixtures) {
  ASSERT_EQ(loose({"--contract", "strict"}).status, 1);
  const std::string path = run()["results"][0]["failures"][0]["replay"];
  // The row of what was recorded.
  const auto fixtures = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--fixtures", path, "--impl", "cpu.baseline", "--json", file("fixtures.json")});
    verify(more);
    const json written = json::parse(read_file(file("fixtures.json")));
    for (const json& row : written["results"])
      if (row["impl"] == "fixture:plugin:loose") return row;
    ADD_FAILURE() << "no row of what was recorded";
    return json();
  };
  EXPECT_EQ(fixtures({})["verdict"], "diverged");  // by the recorded contract
  const std::string declared = "nonfinite=unspecified signed_zero=ignore";
  EXPECT_NE(fixtures({"--contract", declared})["verdict"], "diverged");
  const json strict = fixtures({"--contract", "strict"});
  ASSERT_EQ(strict["verdict"], "diverged");
  const std::string again = strict["failures"][0]["replay"];
  EXPECT_EQ(assay({"replay", again}).status, 1);
  EXPECT_THAT(assay({"replay", again, "--contract", declared}).out,
              Not(HasSubstr("now       fixture:plugin:loose diverged")));
}

TEST_F(CommandContract, JudgesListedCases) {
  std::ofstream(file("cases.txt")) << "relu:f32:self={3,40}:data=normal:seed=1\n";
  const Finished f =
      verify({"--cases-from", file("cases.txt"), "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--impl",
              "plugin:wrong", "--shrink", "0", "--contract", "strict nonfinite=unspecified"});
  EXPECT_EQ(f.status, 1) << f.out;
  EXPECT_EQ(json::parse(read_file(file("out/run.json")))["contract"], "strict nonfinite=unspecified");
}

TEST_F(CommandContract, AWrongFieldOrValueIsNamed) {
  expect_usage_error(verify({"relu", "--contract", "chian=any"}), "--contract chian=any: ");
  expect_usage_error(verify({"relu", "--contract", "chian=any"}), "there is no field \"chian\"");
  expect_usage_error(verify({"relu", "--contract", "chain=all"}), "chain: \"all\" is not any, blocked(B)");
  expect_usage_error(verify({"relu", "--contract", "stricter"}), "\"stricter\" is not field=value");
  expect_usage_error(verify({"relu", "--contract", " "}), "--contract is empty");
}

TEST_F(CommandContract, SaysWhichRowsPassByWhatTheyDeclare) {
  const Finished f = loose({});
  EXPECT_THAT(f.out, HasSubstr("1 row of a peer or plugin passes only under what its kernel declares "
                               "(nonfinite=unspecified: 1, signed_zero=ignore:"));
  const json row = run()["results"][0];
  EXPECT_GT(row["needs"]["nonfinite=unspecified"], 0);
  EXPECT_GT(row["needs"]["signed_zero=ignore"], 0);
  EXPECT_FALSE(row["needs"].contains("exp=4ulp"));  // declared, and not needed
  EXPECT_EQ(run()["passed_by_declaration"],
            json::parse(R"({"nonfinite=unspecified": 1, "signed_zero=ignore": 1})"));
  // Of kernels that declare nothing, or of ours, nothing is said.
  const Finished ours = verify({"relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--impl",
                                "cpu.baseline,plugin:narrow", "--dtype", "f32", "--cases", "40"});
  EXPECT_THAT(ours.out, Not(HasSubstr("only under what")));
}

}  // namespace
}  // namespace assay

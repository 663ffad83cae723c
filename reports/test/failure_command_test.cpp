// The command that shows a failure again, wherever it is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/junit.h"
#include "reports/run_file.h"
#include "reports/table.h"
#include "sample.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FailureCommand, NamesThePluginsLibrary) {
  Row row = row_of("relu", "plugin:mine", "f32", {{Verdict::diverged, 1}});
  Failure f{"relu:f32:self=2", Verdict::diverged, "out[0] is 2", "out/a.h5", "", 0};
  EXPECT_THAT(command_of(row, f), ElementsAre("assay", "replay", "out/a.h5"));
  f.plugin = "/opt/my libs/libmine.so";
  EXPECT_THAT(command_of(row, f), ElementsAre("assay", "replay", "out/a.h5", "--plugin", f.plugin));
  row.failures = {f};
  RunResult run;
  run.rows = {row};
  EXPECT_THAT(table(run), HasSubstr("assay replay out/a.h5 --plugin '/opt/my libs/libmine.so'\n"));
  EXPECT_THAT(junit(run), HasSubstr("replay: assay replay out/a.h5 --plugin '/opt/my libs/libmine.so'"));
  f.replay.clear();
  EXPECT_THAT(command_of(row, f), ElementsAre("assay", "verify", "--impl", "plugin:mine", "--case",
                                              "relu:f32:self=2", "--plugin", f.plugin));
}

TEST(FailureCommand, IsKeptByRunFiles) {
  RunResult run = sample_run();
  EXPECT_FALSE(nlohmann::json::parse(to_json(run))["results"][0]["failures"][0].contains("plugin"));
  run.rows[0].failures[0].plugin = "/opt/libmine.so";
  const std::string text = to_json(run);
  EXPECT_EQ(nlohmann::json::parse(text)["results"][0]["failures"][0]["plugin"], "/opt/libmine.so");
  EXPECT_EQ(run_from_json(text, "run.json").rows[0].failures[0].plugin, "/opt/libmine.so");
}

}  // namespace
}  // namespace assay

#include "reports/short_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/file.h"
#include "reports/merge.h"
#include "reports/run_file.h"
#include "reports/summary.h"
#include "reports/table.h"
#include "sample.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;

RunResult short_run() {
  RunResult run;
  run.command = {"./assay", "verify", "soft max"};
  run.rows = {row_of("relu", "cpu", "f32", {{Verdict::pass, 1200}})};
  run.cases_not_run = 71190;
  run.short_run = ShortRun{120, 40, 250, {"cuda.emulated", "cuda.ptx"}, {{"onednn.avx2", 8}, {"torch", 8}}};
  return run;
}

TEST(ShortRunNote, SaysWhatWasLeftOutAndHowToGetIt) {
  EXPECT_EQ(
      short_run_note(short_run()),
      "This was the short run: 40 of 250 cases for each operator and dtype. Left out: 71,190 generated cases; after "
      "8 cases, the peers onednn.avx2, torch; cuda.emulated, cuda.ptx (CUDA kernels on the processor). All of them: "
      "assay verify 'soft max' --thorough");
  RunResult all = short_run();
  all.cases_not_run = 0;
  all.short_run->cases = 250;
  all.short_run->sampled = {};
  EXPECT_EQ(
      short_run_note(all),
      "This was the short run. Left out: cuda.emulated, cuda.ptx (CUDA kernels on the processor). All of them: assay "
      "verify 'soft max' --thorough");
  all.short_run->left_out = {};
  EXPECT_EQ(short_run_note(all), "") << "nothing was left out";
  all.short_run->not_built = {"onednn", "cuda"};
  EXPECT_EQ(short_run_note(all),
            "This was the short run. Left out: the parts onednn, cuda, which are not built. All of them: assay "
            "verify 'soft max' --thorough");
  all.short_run->not_built = {};
  all.short_run->sampled = {{"torch", 250}};
  EXPECT_EQ(short_run_note(all), "");
  EXPECT_EQ(short_run_note(sample_run()), "");
  RunResult stopped = short_run();
  stopped.complete = false;
  EXPECT_EQ(short_run_note(stopped), "");
  RunResult shard = short_run();
  shard.command = {"./assay", "verify", "relu", "--shard", "1/2"};
  shard.shard = "1/2";
  EXPECT_THAT(short_run_note(shard), EndsWith(": assay verify --thorough"));
}

TEST(ShortRunNote, StandsLastInTheTableAndInReports) {
  const RunResult run = short_run();
  const std::string text = table(run);
  EXPECT_THAT(text, HasSubstr("\nPASSED: no fault in 1 row (1 pass). 1,200 cases in 0.0 s, seed 0.\n"
                              "  This was the short run: 40 of 250 cases "));
  EXPECT_THAT(text, EndsWith(" --thorough\n"));
  EXPECT_EQ(exit_code(run), 0);
  Report report;
  report.runs.push_back({"run.json", run, {}});
  const Headline h = headline(report);
  EXPECT_EQ(h.word(), "PASSED");
  EXPECT_THAT(h.warnings, Contains(short_run_note(run)));
}

TEST(ShortRunNote, IsKeptInRunFiles) {
  const std::string text = to_json(short_run());
  const RunResult back = run_from_json(text, "run.json");
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(short_run_note(back), short_run_note(short_run()));
  EXPECT_EQ(back.short_run->budget, 120);
  EXPECT_FALSE(nlohmann::json::parse(to_json(sample_run())).contains("short_run"));

  nlohmann::json wrong = nlohmann::json::parse(text);
  wrong["short_run"]["cases"] = 251;
  try {
    run_from_json(wrong.dump(), "run.json");
    ADD_FAILURE() << "more cases than there are";
  } catch (const FileError& e) {
    EXPECT_THAT(e.what(), HasSubstr("short_run.cases"));
  }
}

TEST(ShortRunNote, AddsUpTheCasesOfShards) {
  RunResult one = short_run(), two = short_run();
  one.shard = "1/2";
  two.shard = "2/2";
  two.short_run->cases = 32;
  two.short_run->left_out = {"cuda.ptx"};
  two.short_run->sampled = {{"torch", 0}};
  const RunResult merged = merge({{"1.json", one}, {"2.json", two}}).run;
  ASSERT_TRUE(merged.short_run);
  EXPECT_EQ(merged.short_run->cases, 72u);
  EXPECT_EQ(merged.short_run->sampled.at("torch"), 8u);
  EXPECT_EQ(merged.short_run->left_out, one.short_run->left_out);
  EXPECT_EQ(merged.cases_not_run, 2 * 71190u);
}

}  // namespace
}  // namespace assay

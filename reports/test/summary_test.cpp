// What a report says at its head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench_sample.h"
#include "report_sample.h"
#include "reports/html.h"
#include "reports/junit_report.h"
#include "reports/markdown.h"
#include "reports/summary.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Summary, SaysWhatTheFilesSay) {
  Report report = sample_report();
  EXPECT_EQ(headline(report).word(), "FAILED");
  EXPECT_THAT(headline(report).parts, ElementsAre("1 of 4 rows at fault", "peers disagree in 1 row"));
  report.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  const Headline both = headline(report);
  EXPECT_THAT(both.parts,
              ElementsAre("1 of 4 rows at fault", "peers disagree in 1 row", "1 kernel call measured",
                          "1 kernel call compared on a machine that was not fit to judge"));
  EXPECT_THAT(both.warnings, ElementsAre("b.json: incomplete: out of time",
                                         "b.json: the machine was not quiet enough to compare speeds on it"));
  Report good;
  good.runs.push_back({"run.json", sample_run(), {}});
  good.runs[0].run.rows.erase(good.runs[0].run.rows.begin());
  EXPECT_EQ(headline(good).word(), "PASSED");
  EXPECT_EQ(headline(Report{}).word(), "NOTHING RAN");
  Report speeds;
  speeds.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  EXPECT_EQ(headline(speeds).word(), "MEASURED") << "the machine was not fit to judge";
  speeds.benches[0].gate->fit = true;
  EXPECT_EQ(headline(speeds).word(), "FAILED");
  EXPECT_THAT(headline(speeds).parts, ElementsAre("1 kernel call measured", "1 regression"));
  speeds.benches[0].rows[0].gate->verdict = SpeedVerdict::same;
  EXPECT_EQ(headline(speeds).word(), "NO FAULT SO FAR") << "it is incomplete";
  speeds.benches[0].complete = true;
  EXPECT_EQ(headline(speeds).word(), "PASSED");
  speeds.benches[0].gate.reset();
  EXPECT_EQ(headline(speeds).word(), "MEASURED");
  Report nothing;
  nothing.runs.push_back({"run.json", {}, {}});
  EXPECT_EQ(headline(nothing).word(), "NOTHING RAN");
}

void fail(BenchRow& row) {
  row.status = BenchStatus::failed;
  row.ns = {};
  row.reason = "out[0] is |-1|";
}

TEST(Summary, WhatWasKeptFromRunningHasNotPassed) {
  Report report;
  report.runs.push_back({"run.json", {}, {}});
  report.runs[0].run.rows = {row_of("relu", "cpu", "f32", {{Verdict::pass, 5}}),
                             row_of("mm", "cpu", "f32", {{Verdict::not_run, 5}})};
  EXPECT_EQ(headline(report).word(), "NO FAULT SO FAR");
  EXPECT_THAT(headline(report).warnings, ElementsAre("1 row could not be run, although the kernel is there"));
}

TEST(Summary, NamesKernelsThatFailedWhileTheyWereTimed) {
  Report report = bench_report();
  fail(report.benches[0].rows[0]);
  EXPECT_EQ(headline(report).word(), "FAILED") << "all failed";
  EXPECT_THAT(headline(report).parts,
              ElementsAre("1 kernel call failed: cpu.avx2 relu:f32:self=4", "0 kernel calls measured"));
  // Beside rows that are well, with a gate or without one.
  report.benches.push_back(bench_from_json(kBenchSample, "c.json"));
  report.benches[1].rows[0].gate->verdict = SpeedVerdict::same;
  report.benches[1].gate->fit = true;
  EXPECT_EQ(headline(report).word(), "FAILED");
  report.benches[1].gate.reset();
  report.benches[1].rows[0].gate.reset();
  EXPECT_EQ(headline(report).word(), "FAILED");
  for (int i = 0; i < 4; ++i) report.benches[0].rows.push_back(report.benches[0].rows[0]);
  EXPECT_THAT(headline(report).parts[0], ::testing::StartsWith("5 kernel calls failed: cpu.avx2 relu"));
  EXPECT_THAT(headline(report).parts[0], ::testing::EndsWith("; and 2 more"));
  // In every document, with why.
  EXPECT_THAT(html(report), HasSubstr("5 kernel calls failed: cpu.avx2 relu:f32:self=4; "));
  EXPECT_THAT(html(report), HasSubstr("<td>out[0] is |-1|</td>"));
  EXPECT_THAT(markdown(report), ::testing::StartsWith("# FAILED: 5 kernel calls failed\\: cpu.avx2"));
  EXPECT_THAT(markdown(report),
              HasSubstr("| cpu.avx2 | relu\\:f32\\:self=4 | warm | out\\[0\\] is \\|-1\\| |"));
  EXPECT_THAT(junit(report), HasSubstr("errors=\"5\""));
}

TEST(Summary, APeerThatFailsIsThePeersAffair) {
  Report report = bench_report();
  fail(report.benches[0].rows[1]);
  EXPECT_EQ(headline(report).word(), "MEASURED");
  EXPECT_THAT(headline(report).parts, ElementsAre("1 kernel call measured", "peers failed in 1 kernel call"));
  EXPECT_THAT(junit(report), HasSubstr("errors=\"0\""));
  EXPECT_THAT(junit(report), HasSubstr("a peer fails, which does not decide the run; out[0]"));
}

TEST(Summary, WhereNothingWasComparedNothingIsSaidOfRegressions) {
  Report report = bench_report();
  report.benches.push_back(bench_from_json(kBenchSample, "c.json"));
  report.benches[1].gate->fit = true;
  report.benches[1].rows.erase(report.benches[1].rows.begin());
  EXPECT_EQ(headline(report).word(), "MEASURED");
  EXPECT_THAT(headline(report).parts, ElementsAre("1 kernel call measured"));
}

// What `assay bench --against` writes where all is the same machine code.
TEST(Summary, UnchangedCodeHasPassed) {
  std::string text(kBenchSample);
  const auto replace = [&](std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("\"status\": \"measured\"", "\"status\": \"not_run\"");
  replace("\"verdict\": \"REGRESSED\", \"ratio\": 1.1, \"low\": 1.08, \"high\": 1.12",
          "\"verdict\": \"UNCHANGED\", \"ratio\": 1, \"low\": 1, \"high\": 1");
  replace("\"fit\": false", "\"fit\": true");
  replace("\"complete\": false", "\"complete\": true");
  Report report;
  report.benches.push_back(bench_from_json(text, "b.json"));
  EXPECT_EQ(headline(report).word(), "PASSED");
  EXPECT_THAT(headline(report).parts,
              ElementsAre("0 kernel calls measured", "1 of unchanged code", "no regression"));
  const std::string xml = junit(report);
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("UNCHANGED: the same machine code, which was not timed"));
  EXPECT_THAT(xml, Not(HasSubstr("1.0000"))) << "nothing was timed";
  EXPECT_THAT(html(report), HasSubstr("<dt>Gate</dt><dd>1 unchanged code</dd>"));
}

}  // namespace
}  // namespace assay

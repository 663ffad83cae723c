// What reports say of runs, self-tests and benchmarks that were cut short, or that show nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench_sample.h"
#include "reports/html.h"
#include "reports/junit_report.h"
#include "reports/markdown.h"
#include "reports/summary.h"
#include "sample.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Report report_of_a_run() {
  Report report;
  report.runs.push_back({"run.json", sample_run(), {}});
  return report;
}

// As the terminal does.
TEST(Summary, WhatWasCutShortHasNotPassed) {
  Report run = report_of_a_run();
  run.runs[0].run.rows.erase(run.runs[0].run.rows.begin());
  run.runs[0].run.complete = false;
  EXPECT_EQ(headline(run).word(), "NO FAULT SO FAR");
  EXPECT_THAT(markdown(run), ::testing::StartsWith("# NO FAULT SO FAR: no fault in 3 rows"));
  EXPECT_THAT(html(run), HasSubstr("<title>NO FAULT SO FAR - "));

  SelftestFile found;
  found.planted = {{"mm", "f32", "v", "s", true, "", "", {}}};
  Report selftest;
  selftest.selftests = {found};
  EXPECT_EQ(headline(selftest).word(), "PASSED");
  selftest.selftests[0].complete = false;
  EXPECT_EQ(headline(selftest).word(), "NO FAULT SO FAR");
  selftest.selftests[0].planted.clear();
  EXPECT_EQ(headline(selftest).word(), "NOTHING OBSERVED");
  // Beside others that are complete, too.
  selftest.selftests.push_back(found);
  EXPECT_EQ(headline(selftest).word(), "NO FAULT SO FAR");
}

TEST(Summary, AFaultThatShouldNotBeFoundFailsAsItDoesTheSelftest) {
  Report report;
  SelftestFile& file = report.selftests.emplace_back();
  file.planted = {{"mm", "f32", "v", "s", true, "", "nobody can tell", {}}};
  EXPECT_EQ(headline(report).word(), "FAILED");
  EXPECT_THAT(headline(report).parts,
              ElementsAre("0 of 0 planted faults found", "1 found that was said to be unobservable"));
  EXPECT_THAT(junit(report), HasSubstr("message=\"said to be unobservable, but found: v: s\""));
}

TEST(JUnitOfReport, WhatIsIncompleteOrEmptyIsAnError) {
  const auto has = [](const Report& report, const std::string& suite, const std::string& why) {
    const std::string xml = junit(report);
    EXPECT_THAT(
        xml, HasSubstr("<testcase classname=\"assay." + suite +
                       "\" name=\"complete\">\n      <error type=\"incomplete\" message=\"" + why + "\">"));
    EXPECT_THAT(xml, HasSubstr("errors=\"1\""));
  };
  Report run = report_of_a_run();
  EXPECT_THAT(junit(run), Not(HasSubstr("incomplete")));
  run.runs[0].run.complete = false;
  has(run, "run", "the run was stopped");
  run.runs[0].run.incomplete = std::string(kOutOfTime);
  EXPECT_THAT(junit(run), HasSubstr("<skipped message=\"out of time\"/>")) << "--time asked for it";
  run.runs[0].run.incomplete = "stopped by Ctrl-C";
  has(run, "run", "stopped by Ctrl-C");
  run.runs[0].run = {};
  has(run, "run", "nothing ran: there is no kernel to run");
  Report selftest;
  selftest.selftests.resize(1);
  has(selftest, "selftest", "nothing was planted");
  selftest.selftests[0].complete = false;
  has(selftest, "selftest", "the self-test was interrupted");
  Report bench;
  bench.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  bench.benches[0].complete = true;
  EXPECT_THAT(junit(bench), Not(HasSubstr("incomplete")));
  bench.benches[0].complete = false;
  has(bench, "performance", "out of time");
  bench.benches[0].complete = true;
  bench.benches[0].rows.clear();
  has(bench, "performance", "nothing was measured");
}

}  // namespace
}  // namespace assay

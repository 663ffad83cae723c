// Pages, job summaries and JUnit XML of whole reports. How a page behaves in a browser: browser_check.py.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "bench_sample.h"
#include "report_sample.h"
#include "reports/coverage.h"
#include "reports/html.h"
#include "reports/junit_report.h"
#include "reports/markdown.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Documents, AnIntervalThatIsNotKnownIsNoNumber) {
  Report report = bench_report();
  BenchRow& row = report.benches[0].rows[0];
  row.ns = {1e308, -HUGE_VAL, HUGE_VAL};
  row.best_peer->ratio = {0.8, 0, HUGE_VAL};
  for (const std::string& text : {html(report), markdown(report), junit(report)}) {
    EXPECT_FALSE(std::regex_search(text, std::regex("\\b(inf|nan)\\b")));
    EXPECT_THAT(text, Not(HasSubstr("1e999")));
    EXPECT_THAT(text, Not(HasSubstr("00000000000"))) << "not three hundred digits";
  }
  EXPECT_THAT(markdown(report), HasSubstr("| 0.80 | ? |"));
  EXPECT_THAT(junit(report), HasSubstr("time / that of torch: 0.800 (?)"));
  EXPECT_THAT(html(report), HasSubstr("0.800  (no interval)"));
}

TEST(Html, IsOneFileUnderAPolicyThatAllowsOnlyItself) {
  const std::string page = html(sample_report());
  EXPECT_THAT(
      page,
      HasSubstr(
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"));
  EXPECT_EQ(occurrences(page, "unsafe-inline"), 0u);
  EXPECT_EQ(occurrences(page, "<script>"), 1u);
  EXPECT_EQ(occurrences(page, "</script>"), 2u) << "the script and the rows";
  EXPECT_FALSE(std::regex_search(page, std::regex("<[a-z]+ [^>]*\\b(src|on[a-z]+|style)=")))
      << "no inline handlers and styles";
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST(Html, ShowsFaultsPeersAndWhatWasNotRun) {
  const std::string page = html(sample_report());
  EXPECT_THAT(page, HasSubstr("out[0,1] is 2, allowed is 1 to 1"));
  EXPECT_THAT(page, HasSubstr("<code class=\"command\">assay replay out/a.h5</code>"));
  EXPECT_THAT(page, HasSubstr("<b>Diagnosis</b> of the cases as they were found: slope is 0"));
  EXPECT_THAT(page, HasSubstr("href=\"#r:prelu:cpu.avx2:f32\""));
  EXPECT_THAT(page, HasSubstr("Peers that disagree"));
  EXPECT_THAT(page, HasSubstr("not run: no CUDA device"));
  EXPECT_THAT(page, HasSubstr("refused: no f32 in AMX"));
  EXPECT_THAT(page, HasSubstr("Xeon &lt;test&gt;"));
}

TEST(Html, HostileNamesAreNeverMarkup) {
  const std::string hostile = "</script><img src=x onerror=\"alert(1)\">'&\x1b\xFF";
  Report report;
  report.title = hostile;
  RunResult run = sample_run();
  run.command = {hostile};
  run.incomplete = hostile;
  run.complete = false;
  run.shard = hostile;
  run.machine.cpu = hostile;
  run.fixtures = FixtureCount{hostile, 1, {{hostile, 1}}};
  for (Row& row : run.rows) {
    row.op = row.impl = row.dtype = row.worst_case = row.reason = row.information = hostile;
    row.refused = row.undeclared = {{hostile, 3}};
    for (Failure& f : row.failures) f.case_text = f.detail = f.replay = f.diagnosis = hostile;
  }
  report.runs = {{hostile, run, {{hostile, {hostile, 1, 4, 1, 2, {1, 0}, 1, 2, hostile, hostile}}}},
                 {hostile + "2", run, {}}};
  report.base = ReportedRun{hostile, sample_run(), {}};
  BenchmarkFile bench = bench_from_json(kBenchSample, hostile);
  bench.commit = bench.incomplete = hostile;
  for (Ceiling& c : bench.limits) c.name = c.level = c.dtype = hostile;
  bench.gate = GateSetting{hostile, hostile, 1, 2, true};
  HistoryFile history{hostile, {}};
  for (BenchRow& row : bench.rows) {
    row.op = row.case_text = row.dtype = row.impl = row.cache = row.shape = row.reason = row.information =
        hostile;
    if (row.limit) row.limit->binds = hostile;
    if (row.best_peer) row.best_peer->impl = hostile;
    history.series.push_back({hostile,
                              hostile,
                              hostile,
                              hostile,
                              "",
                              static_cast<std::uint64_t>(row.threads),
                              {{hostile, 1, 0.9, 0.5}, {hostile, 2, 1, 0.5}},
                              {{1, 0.9, 1}}});
  }
  report.benches = {bench};
  report.history = history;
  SelftestFile selftest{hostile,
                        0,
                        1,
                        false,
                        {{hostile, hostile, hostile, hostile, false, hostile, "", {{hostile, true}}},
                         {hostile, hostile, hostile, hostile, false, hostile, hostile, {}}},
                        {{hostile, hostile, hostile, hostile, {}}}};
  report.selftests = {selftest};
  const std::string page = html(report);
  EXPECT_EQ(occurrences(page, "<img"), 0u);
  EXPECT_EQ(occurrences(page, "</script>"), 3u) << "the script, rows and measurements";
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find('\xFF'), std::string::npos);
  EXPECT_EQ(occurrences(markdown(report), "<img"), 0u);
  EXPECT_EQ(occurrences(junit(report), "<img"), 0u);
}

TEST(Html, PartsOfSeveralFilesAreCalledByTheirNames) {
  Report report = bench_report();
  EXPECT_THAT(html(report), HasSubstr(">Performance</a>"));
  report.benches.push_back(report.benches[0]);
  report.benches[1].name = "new.json";
  EXPECT_THAT(html(report), HasSubstr(">Performance b.json</a>"));
  EXPECT_THAT(html(report), HasSubstr(">Performance new.json</a>"));
}

TEST(Html, LeavesOutAndCountsWhatIsTooMuch) {
  Report report;
  RunResult run;
  for (int i = 0; i < 1000; ++i) {
    Row row = row_of("op", "cpu", fmt::format("f{}", i).c_str(), {{Verdict::diverged, 1}});
    row.failures = {{std::string(5000, 'c'), Verdict::diverged, std::string(5000, 'd'), "", "", 0}};
    run.rows.push_back(row);
  }
  report.runs.push_back({"run.json", run, {}});
  const std::string page = html(report);
  EXPECT_LT(page.size(), 3'000'000u);
  const std::size_t listed = occurrences(page, "<article class=\"fault\"");
  EXPECT_GT(listed, 100u);
  EXPECT_THAT(page, HasSubstr(fmt::format("{} rows more with faults are in the table", 1000 - listed)));
}

// What one took on a GPU says nothing about one on the processor.
TEST(Html, KernelsOfADeviceStandBesideThoseOfTheSameDevice) {
  Report report;
  report.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  BenchmarkFile& file = report.benches.front();
  BenchRow row = file.rows.front();
  file.rows.clear();
  row.best_peer.reset();
  const auto add = [&](const char* impl, bool peer, const char* device, double ns) {
    row.impl = impl;
    row.peer = peer;
    row.device = device;
    row.ns.median = ns;
    file.rows.push_back(row);
  };
  add("cpu.avx2", false, "", 100);
  add("cuda.gpu", false, "a GPU", 300);
  add("cudnn", true, "a GPU", 200);
  const std::string page = html(report);
  EXPECT_THAT(page, HasSubstr("Side by side"));
  EXPECT_THAT(page, HasSubstr("<small>warm on a GPU, 2 threads</small>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">1.50×</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<td class=\"number\">0.50×</td>")));
  file.rows.erase(file.rows.begin() + 1);  // ours on the processor alone has no rival
  EXPECT_THAT(html(report), Not(HasSubstr("Side by side")));
}

TEST(Coverage, NamesWhatIsLookedAtNoMore) {
  const RunResult base = sample_run();
  RunResult now = base;
  EXPECT_THAT(coverage_lost(base, now), IsEmpty());
  now.rows.erase(now.rows.begin());                          // prelu cpu.avx2
  now.rows[1] = row_of("prelu", "cpu.baseline", "f32", {});  // not run now
  now.rows[1].reason = "no time";
  now.rows[3].cases = 4;  // relu onednn
  const std::vector<CoverageLoss> lost = coverage_lost(base, now);
  ASSERT_EQ(lost.size(), 3u);
  EXPECT_EQ(lost[0].kind, CoverageLoss::Kind::gone);
  EXPECT_EQ(lost[0].impl, "cpu.avx2");
  EXPECT_EQ(lost[1].kind, CoverageLoss::Kind::not_run);
  EXPECT_EQ(lost[1].reason, "no time");
  EXPECT_EQ(lost[2].kind, CoverageLoss::Kind::fewer_cases);
  EXPECT_EQ(lost[2].now, 4u);
  now.rows[1] = row_of("prelu", "cpu.baseline", "f32", {{Verdict::refused, 10}});
  now.rows[1].refused = {{"a few", 2}, {"most of them", 8}};
  EXPECT_EQ(coverage_lost(base, now)[1].kind, CoverageLoss::Kind::refused);
  EXPECT_EQ(coverage_lost(base, now)[1].reason, "most of them");
}

TEST(Markdown, HasTheVerdictFirst) {
  Report report = sample_report();
  report.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  report.benches[0].gate->fit = true;
  report.base = ReportedRun{"old.json", sample_run(), {}};
  const std::string text = markdown(report);
  EXPECT_TRUE(text.starts_with(
      "# FAILED: 1 of 4 rows at fault, peers disagree in 1 row, 1 kernel call measured, 1 regression\n"))
      << text.substr(0, 200);
  EXPECT_THAT(
      text,
      HasSubstr(
          "| prelu | cpu.avx2 | f32 | **diverged** | prelu\\:f32\\:self=2x3,weight=3 | out\\[0,1\\] is 2, allowed is 1 to 1 |"));
  EXPECT_THAT(text, HasSubstr("### Coverage lost since old.json\n\nNone."));
  EXPECT_THAT(
      text,
      HasSubstr(
          "| **REGRESSED** | relu | relu\\:f32\\:self=4 | cpu.avx2 | warm | 1.100 | 1.080 to 1.120 | 100 ns |"));
}

TEST(Markdown, HasOursBesideTheBestPeer) {
  Report report;
  report.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  report.benches.front().gate.reset();
  EXPECT_THAT(
      markdown(report),
      HasSubstr(
          "| relu\\:f32\\:self=4 | cpu.avx2 | warm | 100 ns | 50% (memory L1) | torch | 0.80 | 0.79 to 0.82 |"));
}

TEST(JUnitOfReport, RegressionsAndSurvivorsFail) {
  Report report = sample_report();
  report.benches.push_back(bench_from_json(kBenchSample, "b.json"));
  report.benches[0].complete = report.benches[0].gate->fit = true;
  SelftestFile selftest;
  selftest.planted = {{"relu", "f32", "lost_tail", "loses its tail", false, "", "", {}},
                      {"mm", "f32", "v", "s", true, "", "", {}}};
  report.selftests.push_back(selftest);
  const std::string xml = junit(report);
  EXPECT_THAT(xml, HasSubstr("tests=\"9\" failures=\"3\" errors=\"0\" skipped=\"4\""));
  EXPECT_THAT(
      xml,
      HasSubstr(
          "<failure type=\"REGRESSED\" message=\"1.1000 times the time of the base (1.0800 to 1.1200)\">"));
  EXPECT_THAT(
      xml,
      HasSubstr(
          "<failure type=\"selftest\" message=\"survived: lost_tail: loses its tail\">0 of 1 planted faults found"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"no f16\"/>"));
  // A machine that was not fit to judge proves no regression.
  report.benches[0].gate->fit = false;
  EXPECT_THAT(junit(report), HasSubstr("failures=\"2\""));
  EXPECT_THAT(
      junit(report),
      HasSubstr(
          "<skipped message=\"the machine was not fit to judge: 1.1000 times the time of the base (1.0800 to 1.1200)\"/>"));
  EXPECT_THAT(markdown(report), Not(HasSubstr("**REGRESSED**")));
  EXPECT_THAT(markdown(report), HasSubstr("**AMBIGUOUS**"));
  report.benches[0].gate->fit = true;
  EXPECT_THAT(markdown(report), HasSubstr("**REGRESSED**"));
}

}  // namespace
}  // namespace assay

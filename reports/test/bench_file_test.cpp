#include "reports/bench_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench_sample.h"
#include "reports/file.h"
#include "reports/file_kind.h"
#include "reports/history_file.h"
#include "reports/html.h"
#include "reports/junit_report.h"
#include "reports/markdown.h"
#include "reports/selftest_file.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string reading_error(const std::function<void()>& read) {
  try {
    read();
  } catch (const FileError& e) {
    return e.what();
  }
  return "no error";
}

// The sample with one text replaced by another.
std::string bench_error_with(std::string_view from, std::string_view to) {
  std::string text(kBenchSample);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return reading_error([&] { bench_from_json(text, "bench.json"); });
}

// A row that is faster than the machine can be has its time, and has failed.
constexpr std::string_view kMeasured = "\"status\": \"measured\", \"reason\": \"\"",
                           kImpossible =
                               "\"status\": \"impossible\", \"reason\": \"207% of what is possible\"";

std::string sample_with_an_impossible_row() {
  std::string text(kBenchSample);
  text.replace(text.find(kMeasured), kMeasured.size(), kImpossible);
  return text;
}

TEST(BenchFile, AnImpossibleRowHasFailed) {
  const BenchmarkFile file = bench_from_json(sample_with_an_impossible_row(), "bench.json");
  const BenchRow& row = file.rows.at(0);
  EXPECT_EQ(row.status, BenchStatus::impossible);
  EXPECT_TRUE(row.has_failed());
  EXPECT_FALSE(row.measured());
  EXPECT_FALSE(file.rows.at(1).has_failed());
  EXPECT_EQ(row.reason, "207% of what is possible");
}

TEST(BenchFile, ReportsSayThatATimeIsImpossible) {
  Report report;
  report.benches.push_back(bench_from_json(sample_with_an_impossible_row(), "bench.json"));
  EXPECT_THAT(junit(report), HasSubstr("<error type=\"impossible\" message=\"207% of what is possible\">"));
  EXPECT_THAT(html(report),
              AllOf(HasSubstr("or a time that is impossible"), HasSubstr("207% of what is possible")));
  EXPECT_THAT(markdown(report), AllOf(HasSubstr("### Failed (1)"), HasSubstr("207% of what is possible")));
  report.benches[0] = bench_from_json(kBenchSample, "bench.json");
  for (const std::string& text : {junit(report), html(report), markdown(report)})
    EXPECT_THAT(text, Not(HasSubstr("impossible")));
}

TEST(BenchFile, IsRead) {
  const BenchmarkFile file = bench_from_json(kBenchSample, "bench.json");
  EXPECT_EQ(file.name, "bench.json");
  EXPECT_THAT(file.command, ElementsAre("assay", "bench"));
  EXPECT_EQ(file.machine.cores, 2);
  EXPECT_EQ(file.fingerprint, "f1");
  EXPECT_EQ(file.seed, 7u);
  EXPECT_EQ(file.seconds, 12.5);
  EXPECT_FALSE(file.complete);
  EXPECT_EQ(file.incomplete, "out of time");
  EXPECT_EQ(file.commit, "abc");
  ASSERT_THAT(file.limits, SizeIs(2));
  EXPECT_TRUE(file.limits[0].bandwidth);
  EXPECT_EQ(file.limits[0].level, "L1");
  EXPECT_EQ(file.limits[1].dtype, "f32");
  ASSERT_TRUE(file.gate);
  EXPECT_EQ(file.gate->canary_alarms, 1u);
  EXPECT_FALSE(file.gate->fit);
  ASSERT_THAT(file.rows, SizeIs(2)) << "what is not Assay's is left out";
  const BenchRow& row = file.rows[0];
  EXPECT_TRUE(row.measured());
  EXPECT_EQ(row.threads, 2u);
  EXPECT_EQ(row.ns.median, 100);
  EXPECT_EQ(row.ns.high, 103);
  ASSERT_TRUE(row.limit && row.best_peer && row.gate);
  EXPECT_EQ(row.limit->binds, "memory L1");
  EXPECT_EQ(row.best_peer->ratio.low, 0.79);
  EXPECT_EQ(row.gate->verdict, SpeedVerdict::regressed);
  EXPECT_TRUE(row.gate->confirmed);
  EXPECT_FALSE(file.rows[1].measured() || file.rows[1].limit || file.rows[1].gate);
  EXPECT_EQ(file.rows[1].reason, "no f16");
  EXPECT_THAT(gate_counts(file), ElementsAre(0, 0, 0, 1, 0)) << "an unfit machine decides nothing";
  BenchmarkFile judged = file;
  judged.gate->fit = true;
  EXPECT_THAT(gate_counts(judged), ElementsAre(0, 0, 0, 0, 1));
}

TEST(BenchFile, ErrorsNameFileAndKey) {
  EXPECT_EQ(
      bench_error_with("assay.bench/1", "assay.bench/9"),
      "cannot read bench.json: context.assay.format: it is \"assay.bench/9\", so this is no benchmark file of Assay "
      "(assay.bench/1)");
  EXPECT_EQ(
      bench_error_with("\"median\": 100", "\"median\": \"fast\""),
      "cannot read bench.json: benchmarks[0].assay.ns.median: expected a number, \"inf\", \"-inf\" or \"nan\", got \"fast\"");
  EXPECT_THAT(bench_error_with("\"median\": 100", "\"median\": 1e9"), HasSubstr("does not lie between low"));
  EXPECT_THAT(bench_error_with("\"median\": 100", "\"median\": 0"),
              HasSubstr("benchmarks[0].assay.ns.median: it was measured"));
  EXPECT_THAT(bench_error_with("\"median\": 100", "\"median\": \"inf\""),
              HasSubstr("benchmarks[0].assay.ns.median: it was measured"));
  EXPECT_EQ(bench_error_with("\"real_time\": 1}", "\"real_time\": 1, \"assay\": 3.0}"), "no error")
      << "a counter of that name";
  EXPECT_THAT(bench_error_with("REGRESSED", "WORSE"),
              HasSubstr("benchmarks[0].assay.gate.verdict: unknown \"WORSE\"; expected one of UNCHANGED"));
  EXPECT_THAT(bench_error_with("\"refused\"", "\"shy\""),
              HasSubstr("benchmarks[1].assay.status: unknown \"shy\""));
  EXPECT_THAT(bench_error_with("\"bandwidth\"", "\"width\""), HasSubstr("context.assay.limits[0].kind"));
  EXPECT_THAT(bench_error_with("\"impl\": \"torch\"", "\"impl\": 1"),
              HasSubstr("benchmarks[0].assay.best_peer.impl: expected a text"));
  EXPECT_THAT(reading_error([] { bench_from_json("{", "x.json"); }),
              HasSubstr("cannot read x.json: it is no JSON"));
  EXPECT_THAT(reading_error([] { bench_from_json("[]", "x.json"); }),
              HasSubstr("cannot read x.json: expected an object"));
}

TEST(SelftestFile, IsReadAndScored) {
  const SelftestFile file = selftest_from_json(
      R"({"format":"assay.selftest/1","seed":3,"complete":true,"seconds":2.5,"planted":[
        {"op":"relu","dtype":"f32","variant":"v1","says":"s","found":true,"verdict":"diverged","case":"c","cases":1,"by":{"other":true},"unobservable":""},
        {"op":"relu","dtype":"f32","variant":"v2","says":"s","found":false,"verdict":"pass","case":"","cases":1,"by":{"other":false},"unobservable":""},
        {"op":"relu","dtype":"f32","variant":"v3","says":"s","found":false,"verdict":"pass","case":"","cases":1,"by":{},"unobservable":"same bits"}],
      "controls":[{"op":"relu","dtype":"f32","kernel":"k","alarm":"","by":{"other":true}}]})",
      "self.json");
  const MutationScore score = score_of(file);
  EXPECT_EQ(score.observable, 2u);
  EXPECT_EQ(score.found, 1u);
  EXPECT_EQ(score.survived(), 1u);
  EXPECT_EQ(score.unobservable, 1u);
  EXPECT_EQ(score.by.at("other"), 1u);
  EXPECT_TRUE(file.planted[1].survived());
  EXPECT_FALSE(file.planted[2].survived());
  EXPECT_THAT(file.controls, SizeIs(1));
  EXPECT_EQ(
      reading_error([] { selftest_from_json(R"({"format":"assay.run/1"})", "self.json"); }),
      "cannot read self.json: format: it is \"assay.run/1\", so this is no self-test file (assay.selftest/1)");
  EXPECT_THAT(reading_error([] {
                selftest_from_json(R"({"format":"assay.selftest/1","planted":[{"op":1}]})", "self.json");
              }),
              HasSubstr("planted[0].op: expected a text"));
}

TEST(HistoryFile, IsRead) {
  const HistoryFile file = history_from_json(
      R"({"format":"assay.history/1","series":[{"op":"relu","case":"c","impl":"k","cache":"l2","threads":2,"machine":"f1",
        "points":[{"commit":"a","time":1,"ratio":0.9,"share":0.5},{"commit":"b","time":2,"ratio":null}],
        "changes":[{"index":1,"before":0.9,"after":1.2}]}]})",
      "h.json");
  ASSERT_THAT(file.series, SizeIs(1));
  EXPECT_EQ(file.series[0].threads, 2u);
  EXPECT_EQ(file.series[0].points[0].ratio, 0.9);
  EXPECT_TRUE(std::isnan(file.series[0].points[1].ratio));
  EXPECT_EQ(file.series[0].changes[0].index, 1u);
  EXPECT_EQ(
      reading_error([] {
        history_from_json(
            R"({"format":"assay.history/1","series":[{"op":"a","case":"c","impl":"k","points":[],"changes":[{"index":0}]}]})",
            "h.json");
      }),
      "cannot read h.json: series[0].changes[0].index: there are only 0 points");
}

TEST(FileKind, IsTheFormatInItsPlace) {
  EXPECT_EQ(format_of(kBenchSample, "x"), "assay.bench/1");
  EXPECT_EQ(
      format_of(R"({"command":["format"],"x":{"format":"deep"},"format":"assay.run/1","results":[)", "x"),
      "assay.run/1")
      << "what comes after is not looked at";
  EXPECT_THAT(format_of(R"({"format":1,"a":[{"format":"b"}],"context":{"format":"c"}})", "x"), IsEmpty());
  EXPECT_THAT(format_of("[]", "x"), IsEmpty());
  EXPECT_THAT(reading_error([] { format_of("{\"a\":\n nonsense", "x.json"); }),
              HasSubstr("cannot read x.json: it is no JSON: parse error at line 2"));
  EXPECT_THAT(reading_error([] { format_of("", "x.json"); }), HasSubstr("cannot read x.json: it is no JSON"));
}

}  // namespace
}  // namespace assay

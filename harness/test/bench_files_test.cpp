// Benchmark files read back and compared: bench/result_file.h, compare.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "../bench/compare.h"
#include "../bench/result_file.h"
#include "../bench/statistics.h"
#include "bench_files.h"

namespace assay {
namespace {

using bench_files::file_error;
using bench_files::file_of;
using bench_files::read;
using bench_files::row;
using nlohmann::json;
using ::testing::HasSubstr;

TEST(BenchFiles, GoogleBenchmarksOwnAreRead) {
  const ResultFile f = read(json::parse(R"({"context": {"host_name": "h", "num_cpus": 4}, "benchmarks": [
      {"name": "a/8", "run_name": "a/8", "run_type": "iteration", "cpu_time": 2, "time_unit": "us"},
      {"name": "b", "run_name": "b", "run_type": "iteration", "cpu_time": 9, "time_unit": "ns", "threads": 2},
      {"name": "b", "run_name": "b", "run_type": "iteration", "cpu_time": 5, "time_unit": "ns", "threads": 2},
      {"name": "b_mean", "run_name": "b", "run_type": "aggregate", "aggregate_name": "mean", "cpu_time": 8, "time_unit": "ns"},
      {"name": "b_median", "run_name": "b", "run_type": "aggregate", "aggregate_name": "median", "cpu_time": 7,
       "time_unit": "ns", "threads": 2},
      {"name": "d", "skipped": true, "skip_message": "not today", "cpu_time": 0, "time_unit": "ns"},
      {"name": "e/real_time/threads:2", "cpu_time": 1, "real_time": 30, "time_unit": "ns"},
      {"name": "e/real_time/threads:2", "cpu_time": 2, "real_time": 50, "time_unit": "ns"},
      {"name": "e/real_time/threads:2", "cpu_time": 3, "real_time": 40, "time_unit": "ns"},
      {"name": "f/manual_time", "cpu_time": 1, "real_time": 60, "time_unit": "ns"},
      {"name": "g/real_times", "cpu_time": 70, "real_time": 1, "time_unit": "ns"},
      {"name": "h", "cpu_time": 0, "time_unit": "ns"},
      {"name": "i", "cpu_time": 1e308, "time_unit": "s"},
      {"name": "a/9", "cpu_time": 2, "time_unit": "us"},
      {"name": "a/9", "error_occurred": true, "error_message": "in one of two"},
      {"name": "c", "error_occurred": true, "error_message": "no"}]})"));
  std::map<std::string, std::string> untimed;
  for (const BenchRow& u : f.untimed) untimed[u.case_text] = std::string(token(u.status)) + ": " + u.reason;
  EXPECT_EQ(untimed, (std::map<std::string, std::string>{{"a/9", "failed: in one of two"},
                                                         {"c", "failed: no"},
                                                         {"d", "not_run: not today"},
                                                         {"h", "not_run: its cpu_time is 0 ns"},
                                                         {"i", "not_run: its cpu_time is 1e+308 s"}}));
  EXPECT_EQ(f.machine, "h; 4 processors");
  ASSERT_EQ(f.rows.size(), 5u);
  EXPECT_EQ(f.rows[2].ns.median, 40);  // of repetitions, and by the clock that it is named after
  EXPECT_EQ(f.rows[3].ns.median, 60);
  EXPECT_EQ(f.rows[4].ns.median, 70);
  EXPECT_EQ(f.rows[0].case_text, "b");
  EXPECT_EQ(f.rows[0].ns.median, 7);
  EXPECT_EQ(f.rows[0].threads, 2);
  EXPECT_EQ(f.rows[1].case_text, "a/8");
  EXPECT_EQ(f.rows[1].ns.median, 2000);
}

// As everywhere: fewer than eight samples have no interval.
TEST(BenchFiles, IntervalsOfGoogleBenchmarksRowsAreThoseOfTheirRepetitions) {
  const auto file = [](int repetitions, bool with_median, double factor = 1) {
    json all = json::array();
    for (int i = 0; i < repetitions; ++i)
      all.push_back({{"name", "a"}, {"cpu_time", factor * (100 + i)}, {"time_unit", "ns"}});
    if (with_median)
      all.push_back({{"name", "a_median"},
                     {"run_name", "a"},
                     {"run_type", "aggregate"},
                     {"aggregate_name", "median"},
                     {"cpu_time", factor * (100 + (repetitions - 1) / 2.0)},
                     {"time_unit", "ns"}});
    return read({{"context", json::object()}, {"benchmarks", all}});
  };
  using enum Compared::Verdict;
  for (const int few : {1, 3, 7}) {
    EXPECT_LE(file(few, false).rows.at(0).ns.low, 0) << few;
    EXPECT_EQ(file(few, true).rows.at(0).ns.high, HUGE_VAL) << few;
    EXPECT_EQ(compare(file(few, false), file(few, false, 1.5)).rows.at(0).verdict, undecided) << few;
  }
  const std::vector<double> times{100, 101, 102, 103, 104, 105, 106, 107, 108};
  const Estimate expected = median_interval(times);
  for (const bool with_median : {false, true}) {
    const ResultFile many = file(9, with_median);
    ASSERT_EQ(many.rows.size(), 1u);
    EXPECT_EQ(many.rows[0].ns.median, 104);
    EXPECT_EQ(many.rows[0].ns.low, expected.low);
    EXPECT_EQ(many.rows[0].ns.high, expected.high);
    EXPECT_EQ(compare(many, many).rows.at(0).verdict, level);
    EXPECT_EQ(compare(many, file(9, with_median, 1.5)).rows.at(0).verdict, slower);
  }
  EXPECT_EQ(file(0, true).rows.at(0).ns.high, HUGE_VAL) << "the median alone";
}

// A counter may have any name, and is a number.
TEST(BenchFiles, CountersOfOthersAreNotTakenForOurs) {
  const ResultFile f = read(json::parse(R"({"context": {"assay": "5"}, "benchmarks": [
      {"name": "a", "cpu_time": 2, "time_unit": "us", "skipped": 1.0, "error_occurred": 2.0, "assay": 3.0}]})"));
  ASSERT_EQ(f.rows.size(), 1u);
  EXPECT_TRUE(f.untimed.empty());
}

TEST(BenchFiles, ErrorsNameFileAndKey) {
  json f = file_of({row("cpu", 10, 1)});
  f["benchmarks"][0]["assay"]["ns"]["median"] = -3;
  EXPECT_THAT(file_error([&] { read(f); }), HasSubstr("x.json"));
  EXPECT_THAT(file_error([&] { read(f); }), HasSubstr("benchmarks[0].assay.ns.median"));
  f = file_of({});
  f["context"]["assay"]["format"] = "assay.bench/9";
  EXPECT_THAT(file_error([&] { read(f); }), HasSubstr("assay.bench/9"));
  EXPECT_THAT(file_error([] { result_file_from("{\"context\": 3", "x.json"); }), HasSubstr("x.json"));
  f = file_of({row("cpu", 10, 1)});
  f["benchmarks"][0]["assay"]["status"] = "asleep";
  EXPECT_THAT(file_error([&] { read(f); }), HasSubstr("unknown \"asleep\"; expected one of measured"));
  f = json::parse(R"({"context": {}, "benchmarks": [{"name": "a", "cpu_time": 2, "time_unit": "weeks"}]})");
  EXPECT_THAT(file_error([&] { read(f); }), HasSubstr("\"weeks\" is no unit"));
  f = file_of({row("cpu", 10, 1)});
  f["benchmarks"][0]["assay"]["ns"] = {{"median", 10}, {"low", 11}, {"high", "inf"}};
  EXPECT_THAT(
      file_error([&] { read(f); }),
      HasSubstr(
          "benchmarks[0].assay.ns.median: it is 10, which does not lie between low, 11, and high, inf"));
  f = file_of({row("cpu", 10, 1)});
  f["benchmarks"][0]["assay"]["best_peer"]["high"] = "nan";
  EXPECT_THAT(file_error([&] { read(f); }), HasSubstr("benchmarks[0].assay.best_peer: its ratio 1 does not"));
  EXPECT_THAT(file_error([] {
                result_file_from(
                    R"({"context": {}, "benchmarks": [{"name": "a", "cpu_time": 2, "cpu_time": 1}]})",
                    "x.json");
              }),
              HasSubstr("cannot read x.json: an object has the key \"cpu_time\" twice"));
}

TEST(BenchCompare, RatiosToThePeerCountAndTimesOnlyOnOneMachine) {
  using enum Compared::Verdict;
  const auto verdict = [](const json& base, const json& fresh) {
    const Comparison c = compare(read(base), read(fresh));
    return c.rows.at(0).verdict;
  };
  // A bad hour: everything took twice as long, the peer too.
  EXPECT_EQ(verdict(file_of({row("cpu", 10, 1)}), file_of({row("cpu", 20, 1)})), level);
  EXPECT_EQ(verdict(file_of({row("cpu", 10, 1)}), file_of({row("cpu", 10, 1.3)})), slower);
  EXPECT_EQ(verdict(file_of({row("cpu", 10, 1.3)}), file_of({row("cpu", 10, 1)})), faster);
  EXPECT_EQ(verdict(file_of({row("cpu", 10, 1)}), file_of({row("cpu", 10, 1.07)})), level);
  EXPECT_EQ(verdict(file_of({row("cpu", 10, 1)}), file_of({row("cpu", 10, 1.09)})), undecided);
  EXPECT_EQ(verdict(file_of({row("cpu", 10, 1)}, "a"), file_of({row("cpu", 10, 1.3)}, "b")), slower);
  // Without a peer, by the clock.
  json base = row("cpu", 10, 1), fresh = row("cpu", 14, 1);
  base["assay"].erase("best_peer");
  EXPECT_EQ(verdict(file_of({base}), file_of({fresh})), slower);
  EXPECT_EQ(verdict(file_of({base}), file_of({row("cpu", 11.5, 1)})), level);
  EXPECT_EQ(verdict(file_of({base}, "a"), file_of({fresh}, "b")), incomparable);
  const Comparison c = compare(read(file_of({row("cpu", 1, 1), row("old", 1, 1)})),
                               read(file_of({row("cpu", 1, 1), row("new", 1, 1)})));
  ASSERT_EQ(c.only_base.size(), 1u);
  EXPECT_EQ(c.only_base[0].impl, "old");
  EXPECT_EQ(c.only_new[0].impl, "new");
}

// Of too few rounds nothing is known.
TEST(BenchCompare, WithoutAnIntervalNothingIsLevel) {
  json vague = row("cpu", 10, 1);
  vague["assay"]["best_peer"]["low"] = 0;
  vague["assay"]["best_peer"]["high"] = "inf";
  const auto verdict = [&] {
    return compare(read(file_of({row("cpu", 10, 1)})), read(file_of({vague}))).rows.at(0);
  };
  EXPECT_EQ(verdict().verdict, Compared::Verdict::undecided);
  EXPECT_EQ(verdict().change.median, 1);
  vague["assay"].erase("best_peer");
  vague["assay"]["ns"] = {{"median", 10}, {"low", "-inf"}, {"high", "inf"}};
  EXPECT_EQ(verdict().verdict, Compared::Verdict::undecided);
  vague["assay"]["ns"] = {{"median", 1e308}, {"low", 1e308}, {"high", 1e308}};
  EXPECT_EQ(verdict().verdict, Compared::Verdict::slower);
}

TEST(BenchCompare, WhatIsNoLongerTimedIsNamed) {
  json fails = row("cpu", 1, 1), refuses = row("old", 1, 1), other = row("other", 1, 1);
  fails["assay"]["status"] = "failed";
  fails["assay"]["reason"] = "result 0 is 7";
  refuses["assay"]["status"] = "refused";
  other["assay"]["status"] = "failed";
  const json base = file_of({row("cpu", 1, 1), row("old", 1, 1)});
  const Comparison c = compare(read(base), read(file_of({fails, refuses, other})));
  EXPECT_TRUE(c.only_base.empty());
  ASSERT_EQ(c.lost.size(), 2u);
  EXPECT_EQ(c.lost[0].impl, "cpu");
  EXPECT_EQ(c.lost[0].status, BenchStatus::failed);
  EXPECT_EQ(c.lost[0].reason, "result 0 is 7");
  EXPECT_EQ(c.lost[1].status, BenchStatus::refused);
}

}  // namespace
}  // namespace assay

#include "reports/merge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sample.h"

namespace assay {
namespace {

using enum Verdict;

Shard shard(const std::string& name, const std::string& position, std::vector<Row> rows) {
  RunResult run;
  run.seed = 42;
  run.command = {"./assay", "verify", "prelu", "--shard", position, "--json", name};
  run.machine.cpu = "Xeon";
  run.shard = position;
  run.rows = std::move(rows);
  return {name, std::move(run)};
}

std::string error_of(std::vector<Shard> shards) {
  try {
    merge(std::move(shards));
  } catch (const MergeError& error) {
    return error.what();
  }
  return "no error";
}

Row failing_row(std::uint64_t index) {
  Row row = row_of("prelu", "cpu", "f32", {{pass, 1}, {diverged, 1}});
  row.failures = {{"case " + std::to_string(index), diverged, "", "", "", index}};
  return row;
}

TEST(Merge, SumsAndKeepsTheWorst) {
  Row a = row_of("prelu", "cpu", "f32", {{pass, 3}, {refused, 1}});
  a.refused = {{"large", 1}};
  a.elements = 100;
  a.undecidable_elements = 1;
  a.undecidable_cases = 1;
  a.worst = 0.25;
  a.worst_case = "a";
  a.information = "jit";
  Row b = row_of("prelu", "cpu", "f32", {{pass, 2}, {refused, 3}});
  b.refused = {{"large", 2}, {"strange", 1}};
  b.undeclared = {{"strange", 1}};
  b.elements = 50;
  b.undecidable_cases = 2;
  b.worst = 0.75;
  b.worst_case = "b";
  b.information = "ref";
  const Merged merged = merge({shard("2.json", "2/2", {b}), shard("1.json", "1/2", {a})});
  EXPECT_TRUE(merged.warnings.empty());
  EXPECT_TRUE(merged.run.complete);
  EXPECT_FALSE(merged.run.shard.has_value());
  ASSERT_EQ(merged.run.rows.size(), 1u);
  const Row& row = merged.run.rows[0];
  EXPECT_EQ(row.cases, 9u);
  EXPECT_EQ(row.counts[static_cast<std::size_t>(pass)], 5u);
  EXPECT_EQ(row.refused, (std::map<std::string, std::uint64_t>{{"large", 3}, {"strange", 1}}));
  EXPECT_EQ(row.undeclared, (std::map<std::string, std::uint64_t>{{"strange", 1}}));
  EXPECT_EQ(row.elements, 150u);
  EXPECT_EQ(row.undecidable_elements, 1u);
  EXPECT_EQ(row.undecidable_cases, 3u);
  EXPECT_EQ(row.worst, 0.75);
  EXPECT_EQ(row.worst_case, "b");
  EXPECT_EQ(row.information, "jit; ref");
  EXPECT_EQ(row.verdict, pass);
}

TEST(Merge, SumsWhatWarpsTouched) {
  Shard a = shard("1.json", "1/2", {}), b = shard("2.json", "2/2", {});
  a.run.accesses = {{"a.h:1", "a_kernel", "global read, 4 B", 1, 4, 3},
                    {"b.h:1", "b_kernel", "global read, 4 B", 1, 4, 4}};
  b.run.accesses = {{"b.h:1", "b_kernel", "global read, 4 B", 2, 9, 5},
                    {"a.h:1", "a_kernel", "shared read, 4 B", 1, 1, 1}};
  const Merged merged = merge({a, b});
  ASSERT_EQ(merged.run.accesses.size(), 3u);
  EXPECT_EQ(merged.run.accesses[0].kernel, "b_kernel");
  EXPECT_EQ(merged.run.accesses[0].requests, 3u);
  EXPECT_EQ(merged.run.accesses[0].units, 13u);
  EXPECT_EQ(merged.run.accesses[0].least, 9u);
  EXPECT_EQ(merged.run.accesses[1].wasted(), 1u);
  EXPECT_EQ(merged.run.accesses[2].access, "shared read, 4 B");
}

TEST(Merge, PutsFailuresInTheOrderOfTheirCases) {
  const Merged merged =
      merge({shard("1.json", "1/3", {failing_row(6)}), shard("2.json", "2/3", {failing_row(1)}),
             shard("3.json", "3/3", {failing_row(2)})});
  ASSERT_EQ(merged.run.rows.at(0).failures.size(), 3u);
  EXPECT_EQ(merged.run.rows[0].failures[0].index, 1u);
  EXPECT_EQ(merged.run.rows[0].failures[1].index, 2u);
  EXPECT_EQ(merged.run.rows[0].failures[2].index, 6u);
  EXPECT_EQ(merged.run.rows[0].verdict, diverged);
}

Verdict merged_verdict(const Row& a, const Row& b) {
  return merge({shard("1.json", "1/2", {a}), shard("2.json", "2/2", {b})}).run.rows.at(0).verdict;
}

TEST(Merge, JudgesTheWholeRowAgain) {
  const Row good = row_of("prelu", "cpu", "f32", {{pass, 5}});
  EXPECT_EQ(merged_verdict(good, row_of("prelu", "cpu", "f32", {{vacuous, 2}})), pass);
  Row judged = good;
  judged.elements = 20;
  EXPECT_EQ(merged_verdict(judged, row_of("prelu", "cpu", "f32", {{refused, 2}})), pass);
  EXPECT_EQ(merged_verdict(good, row_of("prelu", "cpu", "f32", {{crashed, 1}})), crashed);
  Row undecidable = good;
  undecidable.elements = 1000;
  undecidable.undecidable_elements = 15;
  undecidable.undecidable_cases = 5;
  undecidable.verdict = row_verdict(undecidable);
  Row decidable = good;
  decidable.elements = 1000;
  EXPECT_EQ(undecidable.verdict, vacuous);
  EXPECT_EQ(merged_verdict(undecidable, decidable), pass);
  EXPECT_EQ(merged_verdict(undecidable, undecidable), vacuous);
}

TEST(Merge, DoesNotHideThatAShardCouldNotRunAKernel) {
  const Row good = row_of("prelu", "cpu", "f32", {{pass, 5}});
  Row absent = row_of("prelu", "cpu", "f32", {});
  absent.reason = "needs AVX-512";
  EXPECT_EQ(merged_verdict(good, absent), not_run);
  EXPECT_EQ(merged_verdict(absent, good), not_run);
  absent.reason = kNoCases;
  EXPECT_EQ(merged_verdict(good, absent), pass);
  EXPECT_EQ(merge({shard("1.json", "1/2", {absent}), shard("2.json", "2/2", {good})}).run.rows.at(0).reason,
            "");
}

TEST(Merge, TakesANaNForTheWorst) {
  Row a = row_of("prelu", "cpu", "f32", {{pass, 1}});
  a.worst = 5;
  Row b = a;
  b.worst = std::numeric_limits<double>::quiet_NaN();
  const auto worst = [](const Row& x, const Row& y) {
    return merge({shard("1.json", "1/2", {x}), shard("2.json", "2/2", {y})}).run.rows.at(0).worst;
  };
  EXPECT_TRUE(std::isnan(worst(a, b)));
  EXPECT_TRUE(std::isnan(worst(b, a)));
}

TEST(Merge, SaysWhichShardsAreMissing) {
  const Merged one = merge({shard("1.json", "1/2", {})});
  EXPECT_FALSE(one.run.complete);
  EXPECT_EQ(one.missing, "shard 2/2 is missing");
  EXPECT_EQ(one.run.incomplete, "shard 2/2 is missing");
  EXPECT_EQ(one.warnings, std::vector<std::string>{"shard 2/2 is missing: the merged run is incomplete"});
  EXPECT_EQ(merge({shard("1.json", "2/4", {}), shard("2.json", "3/4", {})}).run.incomplete,
            "shards 1/4, 4/4 are missing");
  EXPECT_EQ(merge({shard("1.json", "1/20", {})}).run.incomplete,
            "shards 2/20, 3/20, 4/20, 5/20, 6/20, 7/20, 8/20, 9/20 and 11 more are missing");
  EXPECT_EQ(merge({shard("1.json", "4/9", {})}).run.incomplete,
            "shards 1/9, 2/9, 3/9, 5/9, 6/9, 7/9, 8/9, 9/9 are missing");
}

TEST(Merge, KeepsThatAShardWasInterrupted) {
  Shard a = shard("1.json", "1/2", {});
  Shard b = shard("2.json", "2/2", {});
  b.run.complete = false;
  b.run.incomplete = "stopped by Ctrl-C";
  b.run.cases_not_run = 12;
  const Merged merged = merge({a, b});
  EXPECT_FALSE(merged.run.complete);
  EXPECT_EQ(merged.run.incomplete, "stopped by Ctrl-C");
  EXPECT_EQ(merged.run.cases_not_run, 12u);
}

TEST(Merge, WarnsOfDifferentMachines) {
  Shard b = shard("2.json", "2/2", {});
  b.run.machine.cpu = "EPYC";
  EXPECT_EQ(merge({shard("1.json", "1/2", {}), b}).warnings,
            std::vector<std::string>{"1.json ran on Xeon, but 2.json on EPYC: which kernels run may differ"});
}

TEST(Merge, RefusesWhatDoesNotBelongTogether) {
  const Shard first = shard("1.json", "1/2", {});
  EXPECT_EQ(error_of({}), "there is no run to merge");
  EXPECT_EQ(error_of({first, shard("again.json", "1/2", {})}), "1.json and again.json are both shard 1/2");
  EXPECT_EQ(error_of({first, shard("3.json", "3/3", {})}),
            "1.json is shard 1/2 and 3.json is shard 3/3: they are not of one run");
  Shard other = shard("2.json", "2/2", {});
  other.run.seed = 43;
  EXPECT_EQ(error_of({first, other}), "1.json has seed 42 and 2.json has seed 43: they are not of one run");
  other = shard("2.json", "2/2", {});
  other.run.command = {"assay", "verify", "relu", "--shard=2/2"};
  EXPECT_EQ(
      error_of({first, other}),
      "1.json was asked \"verify prelu\" and 2.json was asked \"verify relu\": they are not of one run");
  other.run.command = {"assay", "verify", "prelu", "--shard=2/2", "--jobs", "4", "--out=x"};
  EXPECT_EQ(error_of({first, other}), "no error");
  other.run.shard.reset();
  EXPECT_EQ(error_of({first, other}),
            "2.json is no shard: only runs of `assay verify --shard I/N` can be merged");
  for (const char* bad : {"", "2", "0/2", "3/2", "a/b", "1/2/3", "-1/2", "1/"}) {
    other.run.shard = bad;
    EXPECT_EQ(error_of({other}),
              "2.json: its shard is \"" + std::string(bad) + "\", which is not I/N with I from 1 to N");
  }
  other.run.shard = "1/18446744073709551615";
  EXPECT_EQ(error_of({other}),
            "2.json: its shard is \"1/18446744073709551615\", but 1000000 shards are the most");
}

TEST(Merge, GivesASingleRunBack) {
  const Merged merged = merge({{"run.json", sample_run()}});
  EXPECT_EQ(merged.run.rows.size(), sample_run().rows.size());
  EXPECT_TRUE(merged.warnings.empty());
}

}  // namespace
}  // namespace assay

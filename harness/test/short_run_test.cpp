#include "harness/verify/short_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "command_line_fixture.h"
#include "harness/verify/verify.h"
#include "reports/merge.h"
#include "reports/row.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using nlohmann::json;
using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Kernel kernel(const char* name, bool peer) {
  Kernel k;
  k.name = name;
  k.peer = peer;
  return k;
}

TEST(ShortRun, LeavesOutCudaOnTheProcessorUnlessItIsNamed) {
  for (const char* name : {"cuda.emulated", "cuda.ptx"}) {
    EXPECT_TRUE(is_left_out(kernel(name, false), {}));
    EXPECT_TRUE(is_left_out(kernel(name, false), {"cpu.*"}));
    EXPECT_TRUE(is_left_out(kernel(name, false), {"!torch"})) << "not to exclude is not to name";
    EXPECT_FALSE(is_left_out(kernel(name, false), {"cuda.*"}));
    EXPECT_FALSE(is_left_out(kernel(name, false), {"*"}));
  }
  for (const char* name : {"cpu.avx2", "cuda.gpu", "plugin:mine"})
    EXPECT_FALSE(is_left_out(kernel(name, false), {}));
  EXPECT_TRUE(is_sampled(kernel("torch", true), {}));
  EXPECT_FALSE(is_sampled(kernel("torch", true), {"torch"}));
  EXPECT_FALSE(is_sampled(kernel("cpu.avx2", false), {}));
}

TEST(ShortRun, TakesTwoMinutesForAllAndSecondsForFew) {
  std::size_t all = 0;
  for (const Operator* op : operators())
    for (int d = 0; d < kDtypes; ++d) all += op->dtypes.contains(static_cast<Dtype>(d)) ? 1 : 0;
  EXPECT_EQ(budget_for(all).count(), 120);
  EXPECT_EQ(budget_for(1).count(), 10);
  EXPECT_EQ(budget_for(1, 4).count(), 10);
  EXPECT_EQ(budget_for(1, 30).count(), 75)
      << "each kernel of a large library is judged on as many cases as one alone";
  EXPECT_EQ(budget_for(1, 400).count(), 120);
  EXPECT_EQ(budget_for(all, 30).count(), 120);
  EXPECT_NEAR(budget_for(all / 2).count(), 60, 1);
}

TEST(ShortRun, BeginsNoRoundThatItCannotEnd) {
  using S = Budget::Seconds;
  Budget late(S(10));
  for (std::uint64_t round = 0; round < kLeastRounds; ++round)
    EXPECT_TRUE(late.begins(round, S(100. * static_cast<double>(round)))) << "whatever the time";
  EXPECT_FALSE(late.begins(kLeastRounds, S(300)));

  Budget none(S(0));
  EXPECT_TRUE(none.begins(kLeastRounds, S(1))) << "the first of a shard";
  EXPECT_FALSE(none.begins(2 * kLeastRounds, S(2)));

  Budget budget(S(10));
  for (std::uint64_t round = 0; round < kLeastRounds; ++round)
    EXPECT_TRUE(budget.begins(round, S(static_cast<double>(round))));
  EXPECT_TRUE(budget.begins(kLeastRounds, S(4)));
  EXPECT_TRUE(budget.begins(kLeastRounds + 1, S(7))) << "the last took 3 s, 3 s are left";
  EXPECT_FALSE(budget.begins(kLeastRounds + 2, S(9))) << "the last took 2 s, 1 s is left";
}

VerifyOptions few(std::chrono::duration<double> budget) {
  VerifyOptions o;
  o.patterns = {"relu", "mm", "tanh"};
  o.dtypes = {Dtype::f32, Dtype::f64};
  o.impls = {"cpu.baseline"};
  o.is_short = true;
  o.budget = budget;
  return o;
}

RunResult run(
    const VerifyOptions& options,
    const std::function<void(const Progress&)>& progress = [](const Progress&) {}) {
  const Registry registry(ASSAY_PROGRAM);
  return verify(registry, options, false, progress);
}

TEST(ShortRun, GivesEachOperatorAndDtypeTheSame) {
  VerifyOptions options = few(Budget::Seconds(0));
  options.jobs = 1;
  std::vector<std::string> order;
  const RunResult result = run(options, [&](const Progress& p) { order.push_back(p.doing); });
  ASSERT_EQ(result.rows.size(), 6u);
  for (const Row& row : result.rows) EXPECT_EQ(row.cases, kLeastRounds * (kRound + 1)) << row.op << row.dtype;
  ASSERT_EQ(order.size(), kLeastRounds * 6);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], order[i % 6]) << "round after round";
  EXPECT_EQ(std::set<std::string>(order.begin(), order.begin() + 6).size(), 6u);

  ASSERT_TRUE(result.short_run);
  EXPECT_EQ(result.short_run->cases, kLeastRounds * kRound);
  EXPECT_EQ(result.short_run->of, 250u);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(exit_code(result), 0);
  EXPECT_EQ(result.cases_not_run, 6 * (250 + 32 - kLeastRounds * (kRound + 1)));
}

TEST(ShortRun, IsTheThoroughOneWhereThereIsTime) {
  const RunResult all = run(few(hours(1)));
  VerifyOptions options = few(hours(1));
  options.is_short = false;
  const RunResult thorough = run(options);
  EXPECT_FALSE(thorough.short_run);
  EXPECT_EQ(all.cases_not_run, 0u);
  ASSERT_EQ(all.rows.size(), thorough.rows.size());
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    EXPECT_EQ(all.rows[i].counts, thorough.rows[i].counts);
    EXPECT_EQ(all.rows[i].elements, thorough.rows[i].elements);
    EXPECT_EQ(all.rows[i].worst, thorough.rows[i].worst);
    EXPECT_EQ(all.rows[i].worst_case, thorough.rows[i].worst_case);
  }
}

TEST(ShortRun, HasShardsWithCasesOfTheirOwn) {
  std::vector<Shard> shards;
  std::uint64_t cases = 0;
  for (const std::uint64_t shard : {1, 2}) {
    VerifyOptions options = few(Budget::Seconds(0));
    options.shard = shard;
    options.shards = 2;
    shards.push_back({std::to_string(shard), run(options)});
    cases += shards.back().run.short_run->cases;
    EXPECT_EQ(shards.back().run.rows[0].cases, (kRound + 1) * (shard == 1 ? 2 : 1)) << "rounds 1 and 3, or 2";
  }
  EXPECT_EQ(cases, kLeastRounds * kRound);
  const Merged merged = merge(shards);
  EXPECT_TRUE(merged.run.complete);
  ASSERT_TRUE(merged.run.short_run);
  EXPECT_EQ(merged.run.short_run->cases, cases);

  VerifyOptions late = few(Budget::Seconds(0));
  late.shard = kLeastRounds + 1;
  late.shards = kLeastRounds + 1;
  EXPECT_EQ(run(late).rows[0].cases, kRound + 1) << "one round of its own, whatever its number";
}

TEST_F(CommandLine, IsShortUnlessToldOtherwise) {
  const auto of = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"relu", "--dtype", "f32", "--impl", "!torch,!onednn*", "--json", "-"});
    const Finished f = verify(more);
    EXPECT_EQ(f.status, 0) << f.err;
    return json::parse(f.out);
  };
  const auto impls = [](const json& run) {
    std::set<std::string> names;
    for (const json& row : run["results"]) names.insert(row["impl"]);
    return names;
  };
  const json quick = of({});
  ASSERT_TRUE(quick.contains("short_run"));
  EXPECT_EQ(quick["short_run"]["of"], 250);
  EXPECT_TRUE(quick["complete"].get<bool>());
  const json few_cases = of({"--cases", "4"});
  EXPECT_FALSE(few_cases.contains("short_run"));
  for (const std::string& name : impls(few_cases)) {
    const bool absent =
        std::ranges::any_of(quick["short_run"]["left_out"], [&](const json& n) { return n == name; });
    EXPECT_EQ(impls(quick).count(name), absent ? 0u : 1u) << name;
  }
  EXPECT_FALSE(of({"--time", "1s"}).contains("short_run"));
}

TEST_F(CommandLine, ThoroughIsAlone) {
  expect_usage_error(verify({"relu", "--thorough", "--cases", "5"}), "--cases excludes --thorough");
  expect_usage_error(verify({"--thorough", "--case", "relu:f32:self=2"}), "--case excludes --thorough");
  expect_usage_error(verify({"--thorough", "--fixtures", "onnx"}), "--fixtures excludes --thorough");
  EXPECT_THAT(assay({"verify", "--help"}).out, HasSubstr("all 250 cases on all kernels, in place of the short run"));
  const Finished f = verify({"relu", "--dtype", "f32", "--impl", "cpu.baseline", "--thorough"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, Not(HasSubstr("short run")));
  EXPECT_THAT(f.out, HasSubstr("282 cases"));
}

}  // namespace
}  // namespace assay

// When the regression gate says that all is well, and when it must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "../bench/gate_outcome.h"
#include "harness/bench/gate_tally.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using Verdict = SpeedVerdict;
using End = GateTally::End;

BenchRow row_of(Verdict verdict) {
  BenchRow row;
  row.status = verdict == Verdict::unchanged ? BenchStatus::not_run : BenchStatus::measured;
  row.gate = GateOutcome{};
  row.gate->verdict = verdict;
  return row;
}

GateTally tally_of(const std::vector<BenchRow>& rows, Canary canary = {.trials = 1}) {
  GateTally tally;
  for (const BenchRow& row : rows) tally.add(row);
  tally.canary = canary;
  return tally;
}

TEST(GateTally, IsWellOnlyOfRowsThatAre) {
  for (const Verdict v : {Verdict::same, Verdict::improved, Verdict::ambiguous, Verdict::unchanged})
    EXPECT_EQ(tally_of({row_of(v)}).end(), End::well);
  EXPECT_EQ(tally_of({row_of(Verdict::same), row_of(Verdict::regressed)}).end(), End::fault);
  EXPECT_EQ(tally_of({row_of(Verdict::unchanged)}, {}).end(), End::well) << "nothing was timed";
  EXPECT_EQ(tally_of({}, {}).end(), End::unfit) << "nothing was compared";
  BenchRow refused;
  refused.status = BenchStatus::refused;
  EXPECT_EQ(tally_of({refused}, {}).end(), End::unfit);
}

TEST(GateTally, AKernelThatIsNotRightIsAFaultHoweverNoisyTheMachineIs) {
  BenchRow failed;
  failed.status = BenchStatus::failed;
  EXPECT_EQ(tally_of({row_of(Verdict::same), failed}, {.trials = 3, .alarms = 3}).end(), End::fault);
}

TEST(GateTally, NothingIsSaidByAMachineThatIsNotFit) {
  const GateTally differs = tally_of({row_of(Verdict::regressed)}, {.trials = 2, .alarms = 1});
  EXPECT_EQ(differs.end(), End::unfit) << "a regression there is none that counts";
  EXPECT_THAT(differs.unfit(), HasSubstr("differs from itself"));

  const GateTally untried = tally_of({row_of(Verdict::same)}, {.without = 1});
  EXPECT_EQ(untried.end(), End::unfit);
  EXPECT_THAT(untried.unfit(), HasSubstr("no kernel could be timed beside a copy of itself"));
}

TEST(GateTally, OthersMayHaveTheProcessorForHalfOfTheRows) {
  BenchRow disturbed = row_of(Verdict::same), threads = disturbed;
  disturbed.contention = threads.contention = 1.01 * kContended;
  threads.threads = 2;  // whose clock is the wall's
  EXPECT_EQ(tally_of({row_of(Verdict::same), disturbed}).end(), End::well);
  EXPECT_EQ(tally_of({threads}).end(), End::well);
  EXPECT_EQ(tally_of({disturbed, threads, threads}).end(), End::unfit)
      << "what has several threads says nothing";
  const GateTally most = tally_of({row_of(Verdict::same), disturbed, disturbed});
  EXPECT_EQ(most.end(), End::unfit);
  EXPECT_THAT(most.unfit(), HasSubstr("others have its processors"));
}

TEST(GateTally, OfAnInterruptedRunCountsWhatItHasFound) {
  GateTally tally = tally_of({row_of(Verdict::same)}, {});
  tally.interrupted = true;
  EXPECT_EQ(tally.end(), End::interrupted) << "before its first canary";
  tally.add(row_of(Verdict::regressed));
  EXPECT_EQ(tally.end(), End::fault);
  EXPECT_EQ(tally.counts[Verdict::regressed], 1);
}

TEST(GateTally, CountsWhyCodeWasNotSeenAndWhatWasNotCompared) {
  BenchRow unseen = row_of(Verdict::same), not_run;
  unseen.gate->unseen = "stripped";
  const GateTally tally = tally_of({unseen, unseen, not_run});
  EXPECT_EQ(tally.unseen.at("stripped"), 2u);
  EXPECT_EQ(tally.without, 1);
  EXPECT_EQ(tally.timed, 2u);
}

}  // namespace
}  // namespace assay

// bench/statistics.h and the decisions that rest on it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>

#include "../bench/gate_outcome.h"
#include "../bench/statistics.h"

namespace assay {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 1.0);
  return x;
}

// Tables of the sign test's interval at 99%: of n sorted samples, from which to which.
TEST(BenchStatistics, IntervalsAreThoseOfTheSignTest) {
  const struct { int n, from; } table[] = {{8, 1}, {10, 1}, {20, 4}, {40, 12}, {100, 37}};
  for (const auto& [n, from] : table) {
    const Estimate e = median_interval(one_to(n));
    EXPECT_EQ(e.low, from) << n;
    EXPECT_EQ(e.high, n + 1 - from) << n;
    EXPECT_EQ(e.median, (n + 1) / 2.0) << n;
  }
}

TEST(BenchStatistics, TooFewSamplesBoundNothing) {
  const Estimate e = median_interval(one_to(7));
  EXPECT_EQ(e.median, 4);
  EXPECT_EQ(e.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(e.high, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(median_interval({}).median));
}

// Whatever the noise: here it has no mean at all, and is lopsided.
TEST(BenchStatistics, IntervalsHoldTheMedianAsOftenAsTheySay) {
  std::mt19937_64 random(7);
  std::cauchy_distribution<double> noise;
  int missed = 0;
  constexpr int kTries = 4000;
  for (int t = 0; t < kTries; ++t) {
    std::vector<double> x;
    for (int i = 0; i < 40; ++i) x.push_back(std::exp(noise(random)));
    const Estimate e = median_interval(x);
    missed += e.low > 1 || e.high < 1;
  }
  EXPECT_LE(missed, kTries / 100 + 25);
  EXPECT_GE(missed, kTries / 1000);  // nor are they wider than they need be
}

TEST(BenchStatistics, RatiosAreOfRounds) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> weather(0, 1);  // what slows both in a round
  std::normal_distribution<double> noise(0, 0.002);
  std::vector<double> a, b;
  for (int i = 0; i < 160; ++i) {
    const double w = weather(random);
    a.push_back(w * (1 + noise(random)));
    b.push_back(1.05 * w * (1 + noise(random)));
  }
  const Estimate e = ratio_interval(a, b);
  EXPECT_GT(e.low, 1.047);
  EXPECT_LT(e.high, 1.053);
  EXPECT_EQ(decide(median_interval(log_ratios(a, b)), 0.01), SpeedVerdict::regressed);
  EXPECT_EQ(decide(median_interval(log_ratios(b, a)), 0.01), SpeedVerdict::improved);
  EXPECT_EQ(decide(median_interval(log_ratios(a, b)), 0.10), SpeedVerdict::same);
}

TEST(BenchStatistics, WhatIsNotClearIsAmbiguous) {
  EXPECT_EQ(decide({0.02, 0.005, 0.04}, 0.01), SpeedVerdict::ambiguous);
  EXPECT_EQ(decide({0, -0.005, 0.04}, 0.01), SpeedVerdict::ambiguous);
  EXPECT_EQ(decide({0, -1, 1}, 0.01), SpeedVerdict::ambiguous);
  // The threshold is a share of the time, not of its logarithm.
  EXPECT_EQ(decide({0.0, std::log(0.992), std::log(1.0099)}, 0.01), SpeedVerdict::same);
}

// Student's interval of five, from a table: 4.604 standard errors.
TEST(BenchStatistics, MeansOfFewHaveStudentsInterval) {
  const Estimate e = mean_interval(one_to(5));
  const double half = 4.604 * std::sqrt(2.5 / 5);
  EXPECT_EQ(e.median, 3);
  EXPECT_NEAR(e.low, 3 - half, 1e-3);
  EXPECT_NEAR(e.high, 3 + half, 1e-3);
  EXPECT_EQ(mean_interval(one_to(1)).high, std::numeric_limits<double>::infinity());
}

// A change as large as rounds say on average is found in four of five tries or more: the sign test's interval, which counts where
// it is the wider one, is wider than it need be.
TEST(BenchStatistics, TheDetectableEffectIsDetected) {
  std::mt19937_64 random(5);
  const auto rounds = [&](double change) {
    std::normal_distribution<double> noise(std::log1p(change), 0.02);
    std::vector<double> x;
    for (int i = 0; i < 40; ++i) x.push_back(noise(random));
    return x;
  };
  double effect = 0;
  constexpr int kDraws = 200, kTries = 1000;
  for (int t = 0; t < kDraws; ++t) effect += detectable_effect(rounds(0), 0.01) / kDraws;
  int found = 0;
  for (int t = 0; t < kTries; ++t)
    found += decide(median_interval(rounds(effect)), 0.01) == SpeedVerdict::regressed;
  EXPECT_GE(found, 0.8 * kTries);
  EXPECT_LE(found, 0.97 * kTries);
}

TEST(BenchStatistics, TheDetectableEffectIsWhatSpreadOrIntervalHide) {
  EXPECT_EQ(spread(std::vector<double>{1, 2, 3, 4, 100}), 1.4826);
  const auto effect = [](double standard_error) {
    return std::expm1(std::log1p(0.01) + (2.576 + 0.842) * standard_error);
  };
  // Many in the middle, so that their interval is nothing, and more of them far off.
  std::vector<double> spread_out(30, 0.0);
  for (int i = 0; i < 35; ++i) spread_out.insert(spread_out.end(), {-0.01, 0.01});
  EXPECT_NEAR(detectable_effect(spread_out, 0.01), effect(1.2533 * 1.4826 * 0.01 / 10), 1e-12);
  // Two peaks, most in one of them, so that the spread is nothing.
  std::vector<double> peaks(60, 0.0);
  peaks.insert(peaks.end(), 40, 0.03);
  EXPECT_NEAR(detectable_effect(peaks, 0.01), effect(0.03 / 2.576), 1e-12);
  EXPECT_EQ(detectable_effect({}, 0.01), std::numeric_limits<double>::infinity());
}

TEST(BenchStatistics, WhatIsDetectableBetweenProcessesIsFoundByThem) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> between(0, 0.005);
  const auto medians = [&](double change) {
    std::vector<double> x(12);
    for (double& m : x) m = std::log1p(change) + between(random);
    return x;
  };
  double effect = 0;
  constexpr int kDraws = 200, kTries = 1000;
  for (int t = 0; t < kDraws; ++t) effect += detectable_between(medians(0), 12, 0.01) / kDraws;
  int found = 0;
  for (int t = 0; t < kTries; ++t)
    found += decide(mean_interval(medians(effect)), 0.01) == SpeedVerdict::regressed;
  EXPECT_NEAR(found, 0.8 * kTries, 0.07 * kTries);
  // Of two, one of which is as far above their mean as the other below it: 3.106 and 0.876 are Student's, of twelve.
  EXPECT_NEAR(detectable_between(std::vector<double>{-0.01, 0.01}, 12, 0.01),
              std::expm1(std::log1p(0.01) + (3.106 + 0.876) * 0.01 * std::sqrt(2.0 / 12)), 1e-5);
  EXPECT_EQ(detectable_between(one_to(1), 12, 0.01), std::numeric_limits<double>::infinity());
}

TEST(GateOutcome, SeveralProcessesAgreeOrDoNot) {
  using enum SpeedVerdict;
  Estimate over;
  const auto says = [&](std::vector<double> medians, SpeedVerdict verdict) {
    return agree(medians, verdict, 0.03, over);
  };
  EXPECT_FALSE(says({0.05, 0.05, 0.05, 0.05}, regressed)) << "too few";
  EXPECT_TRUE(says({0.05, 0.051, 0.049, 0.0505, 0.0495}, regressed));
  EXPECT_NEAR(over.median, 0.05, 1e-12);
  EXPECT_FALSE(says({0.05, 0.051, 0.049, 0.0505, 0.0495}, improved));
  EXPECT_TRUE(says({-0.05, -0.051, -0.049, -0.0505, -0.0495}, improved));
  EXPECT_FALSE(says({0.05, 0.051, 0.049, 0.05, 0.02}, regressed));
  // With the interval of one side alone, 3.747 standard errors, they would.
  EXPECT_FALSE(says({0.05, 0.05, 0.05, 0.05, 0.03}, regressed));
  EXPECT_GT(over.median - (over.median - over.low) * 3.747 / 4.604, std::log1p(0.03));
  // One that others disturbed: eight are enough if all of them are beyond the threshold.
  EXPECT_FALSE(says({0.054, 0.187, 0.054, 0.047, 0.051, 0.045, 0.075}, regressed));
  EXPECT_TRUE(says({0.054, 0.187, 0.054, 0.047, 0.051, 0.045, 0.075, 0.057}, regressed));
  EXPECT_EQ(over.low, 0.045);
  EXPECT_EQ(over.high, 0.187);
  EXPECT_FALSE(says({0.054, 0.187, 0.054, 0.047, 0.051, 0.029, 0.075, 0.057}, regressed));
}

TEST(GateOutcome, AFindingIsSettledByOtherProcesses) {
  using enum SpeedVerdict;
  Estimate over;
  const auto settled = [&](const std::vector<double>& medians, SpeedVerdict found) {
    return settle(medians, found, 0.01, over);
  };
  EXPECT_EQ(settled({0.05, 0.051, 0.049}, regressed), std::nullopt);
  EXPECT_EQ(settled({0.05, 0.051, 0.049, 0.05, 0.05}, regressed), regressed);
  EXPECT_EQ(settled({0.05, 0.051, 0.049, 0.05, 0.05}, improved), std::nullopt)
      << "before all have been asked";
  EXPECT_EQ(settled({0, 0.001, -0.001, 0, 0}, regressed), std::nullopt) << "neither";
  // As one baseline was that others disturbed: it alone found an improvement.
  std::vector<double> medians = {0.068, 0.049, 0.036, 0.046, 0.064, 0.048, 0.048, 0.077, 0.05, 0.05, 0.06};
  EXPECT_EQ(settled(medians, improved), std::nullopt);
  medians.push_back(-0.2);
  EXPECT_EQ(settled(medians, improved), regressed) << "one of twelve may disagree";
  EXPECT_EQ(over.low, 0.036);
  medians[0] = -0.01;
  EXPECT_EQ(settled(medians, improved), std::nullopt);
  EXPECT_EQ(settled(medians, regressed), std::nullopt);
}

TEST(GateOutcome, AFindingThatNoOtherProcessHasIsNone) {
  using enum SpeedVerdict;
  Estimate over;
  std::vector<double> medians = {0.001, -0.002, 0.004, 0, -0.005, 0.003,
                                 0.002, -0.001, 0.006, 0, 0.001,  0.04};
  EXPECT_EQ(settle(medians, regressed, 0.01, over), same) << "one of twelve may disagree";
  EXPECT_EQ(over.high, 0.006);
  medians[0] = 0.012;
  EXPECT_EQ(settle(medians, regressed, 0.01, over), std::nullopt);
  // Two peaks, of which the mean lies within.
  for (std::size_t i = 0; i < medians.size(); ++i) medians[i] = i % 2 == 0 ? 0.015 : -0.015;
  EXPECT_EQ(settle(medians, regressed, 0.01, over), std::nullopt);
}

// ---- Confirming, with processes that are lists of numbers ---------------------------------------------------

std::vector<double> rounds_of(double change, double noise = 0) {
  std::vector<double> x;
  for (int i = 0; i < 40; ++i) x.push_back(std::log1p(change) + noise * (i % 2 == 0 ? -1 : 1));
  return x;
}

TEST(GateOutcome, WhatWasSlowedHasRegressed) {
  std::size_t asked = 0;
  const GateOutcome o = confirm(outcome_of(rounds_of(0.5, 1e-3), 0.01), [&](std::size_t n) {
    EXPECT_EQ(n, ++asked);
    return std::optional(rounds_of(0.5 + 1e-3 * static_cast<double>(n)));
  });
  EXPECT_EQ(o.verdict, SpeedVerdict::regressed);
  EXPECT_TRUE(o.confirmed);
  EXPECT_EQ(o.note, "");
  EXPECT_EQ(asked, 5u);
  EXPECT_EQ(o.rounds, 40u * 6);
  EXPECT_EQ(o.threshold, 0.01);
  EXPECT_NEAR(o.ratio.median, 1.503, 1e-5);
  EXPECT_LT(o.ratio.low, o.ratio.median);
  EXPECT_GT(o.ratio.high, o.ratio.median);
  const GateOutcome faster =
      confirm(outcome_of(rounds_of(-0.3), 0.01), [](std::size_t) { return std::optional(rounds_of(-0.3)); });
  EXPECT_EQ(faster.verdict, SpeedVerdict::improved);
  EXPECT_TRUE(faster.confirmed);
}

TEST(GateOutcome, WhatIsNoFindingIsNotTriedAgain) {
  const auto never = [](std::size_t) -> std::optional<std::vector<double>> {
    throw std::logic_error("asked");
  };
  const GateOutcome same = confirm(outcome_of(rounds_of(0.005, 1e-3), 0.01), never);
  EXPECT_EQ(same.verdict, SpeedVerdict::same);
  EXPECT_FALSE(same.confirmed);
  EXPECT_EQ(same.rounds, 40u);
  EXPECT_EQ(confirm(outcome_of(rounds_of(0.01, 1e-3), 0.01), never).verdict, SpeedVerdict::ambiguous);
}

TEST(GateOutcome, WhatOneProcessAloneFoundIsNotBelieved) {
  const GateOutcome found = outcome_of(rounds_of(0.05), 0.01);
  EXPECT_NEAR(found.detectable, 0.01, 1e-12);
  const GateOutcome none = confirm(found, [](std::size_t) { return std::optional(rounds_of(0.001)); });
  EXPECT_EQ(none.verdict, SpeedVerdict::same);
  EXPECT_FALSE(none.confirmed);
  EXPECT_EQ(none.rounds, 40u * 13);
  EXPECT_EQ(none.note,
            "REGRESSED by +5.0% in one process, but +0.1%, +0.1%, +0.1%, +0.1%, +0.1%, +0.1%, +0.1%, +0.1%, "
            "+0.1%, +0.1%, +0.1%, +0.1% in others");
  // Rounds within a process are all alike: what hides changes is the difference between processes.
  const auto differ = [](std::size_t n) { return std::optional(rounds_of(n % 2 == 0 ? 0.04 : 0)); };
  const GateOutcome unclear = confirm(found, differ);
  EXPECT_EQ(unclear.verdict, SpeedVerdict::ambiguous);
  EXPECT_FALSE(unclear.confirmed);
  EXPECT_GT(unclear.detectable, 0.03);
  EXPECT_LT(unclear.ratio.low, 1.01);
  EXPECT_GT(unclear.ratio.high, 1.01);
}

TEST(GateOutcome, WhatCannotBeTriedAgainIsNotConfirmed) {
  const GateOutcome o = confirm(outcome_of(rounds_of(0.5), 0.01), [](std::size_t n) {
    return n < 3 ? std::optional(rounds_of(0.5)) : std::nullopt;
  });
  EXPECT_FALSE(o.confirmed);
}

}  // namespace
}  // namespace assay

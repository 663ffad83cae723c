// bench/statistics.h and the decisions that rest on it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

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
  EXPECT_EQ(decide(median_interval(log_ratios(a, b)), 0.01), GateOutcome::Verdict::regressed);
  EXPECT_EQ(decide(median_interval(log_ratios(b, a)), 0.01), GateOutcome::Verdict::improved);
  EXPECT_EQ(decide(median_interval(log_ratios(a, b)), 0.10), GateOutcome::Verdict::same);
}

TEST(BenchStatistics, WhatIsNotClearIsAmbiguous) {
  EXPECT_EQ(decide({0.02, 0.005, 0.04}, 0.01), GateOutcome::Verdict::ambiguous);
  EXPECT_EQ(decide({0, -0.005, 0.04}, 0.01), GateOutcome::Verdict::ambiguous);
  EXPECT_EQ(decide({0, -1, 1}, 0.01), GateOutcome::Verdict::ambiguous);
  // The threshold is a share of the time, not of its logarithm.
  EXPECT_EQ(decide({0.0, std::log(0.992), std::log(1.0099)}, 0.01), GateOutcome::Verdict::same);
}

// A change as large as it says is found in four of five tries.
TEST(BenchStatistics, TheDetectableEffectIsDetected) {
  std::mt19937_64 random(5);
  const auto rounds = [&](double change) {
    std::normal_distribution<double> noise(std::log1p(change), 0.02);
    std::vector<double> x;
    for (int i = 0; i < 40; ++i) x.push_back(noise(random));
    return x;
  };
  const double effect = detectable_effect(rounds(0), 0.01);
  EXPECT_GT(effect, 0.015);
  EXPECT_LT(effect, 0.04);
  int found = 0;
  constexpr int kTries = 1000;
  for (int t = 0; t < kTries; ++t)
    found += decide(median_interval(rounds(0.0235)), 0.01) == GateOutcome::Verdict::regressed;
  EXPECT_NEAR(found, 0.8 * kTries, 0.15 * kTries);
  EXPECT_EQ(spread(std::vector<double>{1, 2, 3, 4, 100}), 1.4826);
}

TEST(GateOutcome, SeveralProcessesAgreeOrDoNot) {
  using enum GateOutcome::Verdict;
  Estimate over;
  const auto says = [&](std::vector<double> medians, GateOutcome::Verdict verdict) {
    return agree(medians, verdict, 0.03, over);
  };
  EXPECT_FALSE(says({0.05, 0.05}, regressed)) << "too few";
  EXPECT_TRUE(says({0.05, 0.051, 0.049}, regressed));
  EXPECT_NEAR(over.median, 0.05, 1e-12);
  EXPECT_FALSE(says({0.05, 0.051, 0.049}, improved));
  EXPECT_TRUE(says({-0.05, -0.051, -0.049}, improved));
  EXPECT_FALSE(says({0.05, 0.051, 0.02}, regressed));
  // One that others disturbed: eight are enough if all of them are beyond the threshold.
  EXPECT_FALSE(says({0.054, 0.187, 0.054, 0.047, 0.051, 0.045, 0.075}, regressed));
  EXPECT_TRUE(says({0.054, 0.187, 0.054, 0.047, 0.051, 0.045, 0.075, 0.057}, regressed));
  EXPECT_EQ(over.low, 0.045);
  EXPECT_EQ(over.high, 0.187);
  EXPECT_FALSE(says({0.054, 0.187, 0.054, 0.047, 0.051, 0.029, 0.075, 0.057}, regressed));
}

TEST(GateOutcome, AFindingIsSettledByOtherProcesses) {
  using enum GateOutcome::Verdict;
  Estimate over;
  const auto settled = [&](const std::vector<double>& medians, GateOutcome::Verdict found) {
    return settle(medians, found, 0.01, over);
  };
  EXPECT_EQ(settled({0.05, 0.051, 0.049}, regressed), regressed);
  EXPECT_EQ(settled({0.05, 0.051, 0.049}, improved), std::nullopt) << "before all have been asked";
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

}  // namespace
}  // namespace assay

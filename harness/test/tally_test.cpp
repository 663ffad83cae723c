#include "harness/verify/tally.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "ops/activation.h"
#include "reports/merge.h"
#include "reports/row.h"
#include "reports/run_file.h"

namespace assay {
namespace {

Kernel relu_kernel() {
  Kernel k;
  k.op = &ops::relu;
  k.name = "test";
  return k;
}

Finding finding(const Kernel& kernel, Verdict verdict, double worst = 0, std::string detail = "") {
  Finding f;
  f.kernel = &kernel;
  f.judgement.verdict = verdict;
  f.judgement.worst = worst;
  f.judgement.elements = 10;
  f.judgement.detail = std::move(detail);
  return f;
}

// A kernel's message is its own: words of ours in it make nothing of its failure.
TEST(Tally, WhatAKernelSaysIsNoSignOfWhatItDid) {
  const Kernel kernel = relu_kernel();
  Tally tally(kernel, Dtype::f32);
  tally.add(finding(kernel, Verdict::wrongly_rejected, 0,
                    "damaged its process: it did not happen again in a fresh process"),
            "relu:f32:self=3", 0);
  ASSERT_EQ(tally.row().failures.size(), 1u);
  EXPECT_FALSE(tally.row().failures[0].harms_others);
}

// Lanes finish in any order; the row must not show it.
TEST(Tally, DoesNotDependOnTheOrderOfFindings) {
  const Kernel kernel = relu_kernel();
  std::mt19937 random(1);
  std::vector<std::uint64_t> order(200);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto row_of = [&](std::size_t lanes) {
    std::vector<Tally> tallies(lanes, Tally(kernel, Dtype::f32));
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint64_t n = order[i];
      const Verdict v = n % 7 == 0    ? Verdict::diverged
                        : n % 11 == 0 ? Verdict::crashed
                        : n % 5 == 0  ? Verdict::vacuous
                                      : Verdict::pass;
      tallies[i % lanes].add(finding(kernel, v, static_cast<double>(n % 13), std::to_string(n)),
                             "case " + std::to_string(n), n);
    }
    Tally all(kernel, Dtype::f32);
    for (const Tally& t : tallies) all.add(t);
    return all.row();
  };
  const Row first = row_of(1);
  ASSERT_EQ(first.failures.size(), 2 * kFailuresPerKind);
  EXPECT_EQ(first.failures[0].index, 0u);
  EXPECT_EQ(first.verdict, Verdict::crashed);
  EXPECT_EQ(first.worst_case, "case 12");
  for (int i = 0; i < 20; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    const Row row = row_of(1 + static_cast<std::size_t>(i) % 4);
    EXPECT_EQ(row.counts, first.counts);
    EXPECT_EQ(row.worst_case, first.worst_case);
    ASSERT_EQ(row.failures.size(), first.failures.size());
    for (std::size_t f = 0; f < row.failures.size(); ++f)
      EXPECT_EQ(row.failures[f].index, first.failures[f].index);
  }
}

// What happened is a cause, whatever numbers are in it; what diverges is told apart by nobody before it is diagnosed.
TEST(Tally, KeepsSomeFailuresOfEachCause) {
  const Kernel kernel = relu_kernel();
  Tally t(kernel, Dtype::f32);
  for (std::uint64_t n = 0; n < 40; ++n) {
    const bool writes = n >= 20;
    t.add(finding(kernel, Verdict::memory, 0,
                  writes ? fmt::format("wrote {} bytes after out", n)
                         : fmt::format("read {} bytes before self", n)),
          std::to_string(n), n);
    t.add(finding(kernel, Verdict::diverged, 0, std::to_string(n)), std::to_string(n), 100 + n);
  }
  std::vector<std::uint64_t> indices;
  for (const Failure& f : t.row().failures) indices.push_back(f.index);
  EXPECT_EQ(indices, (std::vector<std::uint64_t>{0, 1, 2, 20, 21, 22, 100, 101, 102}));
  const std::vector<Failure> further = t.further();
  ASSERT_EQ(further.size(), kFailuresToDiagnose - kFailuresPerKind);
  EXPECT_EQ(further.front().index, 103u);
}

TEST(Tally, CountsUndeclaredRefusalsAndTheyFailTheRun) {
  const Kernel kernel = relu_kernel();
  Tally t(kernel, Dtype::f32);
  Finding f = finding(kernel, Verdict::refused, 0, "not today");
  t.add(f, "a", 0);
  EXPECT_FALSE(fails(t.row(), {}));
  f.judgement.undeclared_refusal = true;
  t.add(f, "b", 1);
  EXPECT_EQ(t.row().refused.at("not today"), 2u);
  EXPECT_EQ(t.row().undeclared.at("not today"), 1u);
  EXPECT_TRUE(fails(t.row(), {}));
  ASSERT_EQ(t.row().failures.size(), 1u);
  EXPECT_EQ(t.row().failures[0].case_text, "b");
}

// A fault that is found out later takes the place of what its call came to, in whichever order parts are added, and in a journal.
TEST(Tally, ReplacesACaseOfAnotherPart) {
  const Kernel kernel = relu_kernel();
  const std::vector<std::string> classes{"rank 1"};
  Tally cases(kernel, Dtype::f32);
  Finding passed = finding(kernel, Verdict::pass), refused = finding(kernel, Verdict::refused, 0, "too long");
  passed.needs = {"exp=2ulp"};
  refused.judgement.undeclared_refusal = true;
  for (std::uint64_t n = 0; n < 40; ++n) {
    const Finding& f = n % 4 == 0 ? refused : passed;
    cases.add(f, std::to_string(n), n);
    cases.covered(f, classes);
    cases.ask();
  }
  Tally blamed(kernel, Dtype::f32);
  Finding fault = finding(kernel, Verdict::unstable, 0, "damaged its process");
  fault.judgement.doing = Doing::to_others;
  fault.harmed = Harmed{"other", "relu:f32:self=3", true, {"relu:f32:self=4"}, true};
  blamed.add(fault, "7", 90);
  blamed.replace(passed);
  blamed.add(fault, "8", 91);
  blamed.replace(refused);
  const auto expect = [&](const Row& row) {
    EXPECT_EQ(row.cases, 40u);
    EXPECT_EQ(count_of(row, Verdict::unstable), 2u);
    EXPECT_EQ(count_of(row, Verdict::pass), 29u);
    EXPECT_EQ(count_of(row, Verdict::refused), 9u);
    EXPECT_EQ(row.refused.at("too long"), 9u);
    EXPECT_EQ(row.undeclared.at("too long"), 9u);
    EXPECT_EQ(row.needs.at("exp=2ulp"), 29u);
    EXPECT_EQ(row.asked, 40u);
    EXPECT_EQ(row.judged, 30u);
    EXPECT_EQ(row.classes.at("rank 1").judged, 30u);
    EXPECT_EQ(row.verdict, Verdict::unstable);
    EXPECT_EQ(row.replaced, Replaced{});
    ASSERT_EQ(row.failures.size(), 5u);  // three of the refusals are shown
    EXPECT_EQ(row.failures[3].harmed, fault.harmed);
    EXPECT_EQ(row.failures[4].harmed, fault.harmed);
    EXPECT_TRUE(row.failures[3].harms_others);
    EXPECT_FALSE(row.failures[0].harms_others);
  };
  for (const bool first : {false, true}) {
    Tally all(kernel, Dtype::f32);
    if (first) all.add(blamed);
    all.add(Tally::of(cases.result(), cases.more()));
    if (!first) all.add(Tally::of(blamed.result(), blamed.more()));
    expect(all.row());
  }
  // As readers of a journal add them up.
  std::vector<Row> parts;
  for (const Tally* t : {&blamed, &cases}) parts.push_back(row_from_json(t->result().dump(), "part"));
  const std::vector<Row> sum = summed(parts);
  ASSERT_EQ(sum.size(), 1u);
  expect(sum[0]);
  // A part that was not finished is in no journal.
  Tally alone(kernel, Dtype::f32);
  alone.add(blamed);
  EXPECT_EQ(alone.row().cases, 2u);
}

TEST(Tally, LeavesOutWhatIsNotTheKernelsBusiness) {
  const Kernel kernel = relu_kernel();
  Tally t(kernel, Dtype::f32);
  Finding f = finding(kernel, Verdict::wrongly_accepted);
  f.applicable = false;
  t.add(f, "a", 0);
  EXPECT_EQ(t.row().cases, 0u);
  EXPECT_EQ(t.row().verdict, Verdict::not_run);
}

}  // namespace
}  // namespace assay

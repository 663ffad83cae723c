#include "harness/verify/tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ops/activation.h"
#include "reports/row.h"

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

// What the text of `assay bench` claims: bench/bench_table.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../bench/bench_table.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

BenchRow timed_beside_torch(const Estimate& ratio) {
  BenchRow row;
  row.op = "relu";
  row.case_text = "relu:f32:self=4";
  row.impl = "cpu.avx2";
  row.status = BenchRow::Status::measured;
  row.ns = {100, 99, 101};
  row.best_peer = AgainstPeer{"torch", ratio};
  return row;
}

// That two are as fast is a claim, too: an interval that holds 1 may hold much else.
TEST(BenchTable, SaysThatTwoAreAsFastOnlyWhereThatIsShown) {
  const auto texts = [](const Estimate& ratio) {
    const std::vector<BenchRow> rows{timed_beside_torch(ratio)};
    return case_text_of(rows, false) + summary_of(rows, false);
  };
  EXPECT_THAT(texts({1.01, 0.98, 1.028}),
              AllOf(HasSubstr("as fast as torch within 3%"), HasSubstr("as fast within 10% in 1,")));
  for (const Estimate& vague : {Estimate{1, 0, HUGE_VAL}, Estimate{1, 0.8, 1.2}})
    EXPECT_THAT(texts(vague),
                AllOf(HasSubstr("not told apart from torch"), Not(HasSubstr("as fast as")),
                      HasSubstr("as fast within 10% in 0, slower in 0, not told apart in 1 of 1 case")));
  EXPECT_THAT(texts({0.5, 0.4, 0.6}), HasSubstr("2.00× as fast as torch"));
  EXPECT_THAT(texts({2, 1.5, 3}), HasSubstr("2.00× as slow as torch"));
}

}  // namespace
}  // namespace assay

// What the text of `assay bench` claims: bench/bench_table.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "../bench/bench_table.h"
#include "reports/bench_row.h"

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
  row.status = BenchStatus::measured;
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

// Its time is no time of the operator: it stands in no comparison, and the run has failed.
TEST(BenchTable, ShowsNoTimeThatIsImpossible) {
  BenchRow row = timed_beside_torch({0.1, 0.09, 0.11});
  row.status = BenchStatus::impossible;
  row.reason = "a call takes 100 ns, and this machine needs 1000 ns to move its 32 bytes, in warm";
  EXPECT_TRUE(row.has_failed());
  const std::vector<BenchRow> rows{row};
  EXPECT_THAT(
      case_text_of(rows, false),
      AllOf(HasSubstr("cpu.avx2           impossible: a call takes 100 ns, and this machine needs 1000 ns"),
            Not(HasSubstr("as fast as torch")), Not(HasSubstr("100.0 ns"))));
  EXPECT_THAT(summary_of(rows, false),
              AllOf(HasSubstr("0 of 1 row measured, 1 failed"), Not(HasSubstr("faster in"))));
  BenchRow other = timed_beside_torch({2, 1.5, 3});
  other.impl = "cpu.baseline";
  EXPECT_THAT(summary_of({row, other}, false), HasSubstr("slower in 1,"))
      << "the next one is the best of ours";
}

// After an interrupt: rows that nobody came to were to be measured, too.
TEST(BenchTable, CountsTheRowsThatWereToBeMeasured) {
  const std::vector<BenchRow> rows{timed_beside_torch({1, 0.99, 1.01})};
  EXPECT_THAT(summary_of(rows, false, 4), HasSubstr("1 of 4 rows measured"));
}

TEST(BenchTable, NamesNoRoomWhereThereIsNone) {
  BenchRow near = timed_beside_torch({0.9, 0.89, 0.91}), far = near;
  near.limit = BoundBy{.ns = 1, .binds = "memory L3", .share = 0.97};
  far.limit = BoundBy{.ns = 1, .binds = "memory L3", .share = 0.5};
  near.case_text = "relu:f32:self=1";
  far.case_text = "relu:f32:self=2";
  EXPECT_THAT(summary_of({near, far}, false), AllOf(HasSubstr("Most room"), HasSubstr("50% of memory L3"),
                                                    Not(HasSubstr("97% of memory L3"))));
  EXPECT_THAT(summary_of({near, near}, false), Not(HasSubstr("Most room")));
}

// The file keeps what was measured, beside why it cannot be.
TEST(BenchTable, TheFileKeepsAnImpossibleTime) {
  BenchRow row = timed_beside_torch({0.1, 0.09, 0.11});
  row.status = BenchStatus::impossible;
  row.reason = "too fast";
  const nlohmann::ordered_json j = bench_row_json(row);
  EXPECT_EQ(j["status"], "impossible");
  EXPECT_EQ(j["reason"], "too fast");
  EXPECT_EQ(j["ns"]["median"], 100);
  row.status = BenchStatus::failed;
  EXPECT_FALSE(bench_row_json(row).contains("ns"));
}

}  // namespace
}  // namespace assay

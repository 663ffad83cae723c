// What a row leaves unknown, and who is told.
#include "reports/gaps.h"

#include <gtest/gtest.h>

#include "reports/junit.h"
#include "reports/merge.h"
#include "reports/run_file.h"
#include "reports/table.h"
#include "sample.h"

namespace assay {
namespace {

using enum Verdict;

Row judged_row(std::uint64_t asked, std::uint64_t judged) {
  Row row = row_of("convolution", "plugin:mine", "f32", {{pass, static_cast<int>(judged)}, {refused, static_cast<int>(asked - judged)}});
  row.elements = 100;
  row.verdict = row_verdict(row);
  row.asked = asked;
  row.judged = judged;
  if (asked > judged) row.refused = {{"only groups 1", asked - judged}};
  row.classes = {{"groups 1", {.judged = judged, .ordinary = true}},
                 {"groups above 1", {.judged = 1, .refused = 2, .ordinary = true}},
                 {"window all 3", {.ordinary = true}},
                 {"layout step2", {.refused = 9, .reasons = {"no gaps"}}}};
  return row;
}

TEST(Gaps, AreFewerThanHalfOfTheCasesAndAHundredAtMost) {
  EXPECT_EQ(least_judged(250), 100u);
  EXPECT_EQ(least_judged(24), 12u);
  EXPECT_EQ(least_judged(1), 1u);
  EXPECT_TRUE(gaps(judged_row(250, 100)).empty());
  ASSERT_EQ(gaps(judged_row(250, 99)).size(), 1u);
  EXPECT_EQ(gaps(judged_row(250, 99))[0], "judged 99 of 250 cases, which is fewer than 100");
  EXPECT_TRUE(gaps(judged_row(0, 0)).empty()) << "a list asks for no number";
}

TEST(Gaps, AreOrdinaryClassesThatWereOnlyRefused) {
  Row row = judged_row(250, 200);
  row.classes["groups above 1"] = {.refused = 34, .ordinary = true, .reasons = {"only groups 1"}};
  ASSERT_EQ(gaps(row).size(), 1u) << "others are no ordinary ones, or were judged, or never called";
  EXPECT_EQ(gaps(row)[0], "every call of the class `groups above 1` was refused (34 cases): only groups 1");
  EXPECT_EQ(never_called(row), std::vector<std::string>{"window all 3"});
  row.may_refuse = {"only groups*"};
  EXPECT_TRUE(gaps(row).empty());
  row.classes["groups above 1"].reasons.insert("out of memory");
  EXPECT_EQ(gaps(row).size(), 1u) << "a reason that nobody accepted";
}

// Where nothing was judged, that says all.
TEST(Gaps, OfARowThatRefusedEverythingAreOne) {
  Row row = judged_row(250, 0);
  row.classes["groups above 1"] = {.refused = 34, .ordinary = true, .reasons = {"only f32"}};
  EXPECT_EQ(gaps(row), std::vector<std::string>{"judged 0 of 250 cases, which is fewer than 100"});
}

RunResult run_with(Row row) {
  RunResult run;
  run.rows = {std::move(row)};
  return run;
}

TEST(Gaps, FailARowThatIsStrict) {
  Row row = judged_row(250, 9);
  EXPECT_EQ(exit_code(run_with(row)), 0);
  EXPECT_NE(table(run_with(row), {}, {}).find("1 row has gaps in what was judged"), std::string::npos);
  EXPECT_NE(junit(run_with(row), {}).find("gap: judged 9 of 250 cases"), std::string::npos);
  EXPECT_EQ(junit(run_with(row), {}).find("<failure"), std::string::npos);
  row.strict = true;
  EXPECT_EQ(exit_code(run_with(row)), 1);
  EXPECT_NE(table(run_with(row), {}, {}).find("FAILED: 1 of 1 row at fault (1 with gaps)"),
            std::string::npos);
  EXPECT_NE(junit(run_with(row), {}).find("message=\"gap: judged 9 of 250 cases, which is fewer than 100\""),
            std::string::npos);
  row.peer = true;
  EXPECT_EQ(exit_code(run_with(row)), 0) << "which nobody named";
}

TEST(Gaps, SayHowManyCasesWereRefusedOnTheLastLine) {
  Row row = judged_row(250, 150);
  row.instead = 50;
  const std::string text = table(run_with(row), {}, {});
  EXPECT_NE(text.find("250 cases, 100 of them refused, in"), std::string::npos) << text;
  EXPECT_NE(text.find("50 other cases were judged in their place"), std::string::npos) << text;
}

TEST(Gaps, KeepTheirFiguresInRunFiles) {
  Row row = judged_row(250, 60);
  row.instead = 7;
  row.strict = true;
  row.may_refuse = {"no *"};
  row.classes["groups above 1"] = {.refused = 3, .ordinary = true, .reasons = {"only groups 1"}};
  const Row back = run_from_json(to_json(run_with(row)), "a.json").rows.at(0);
  EXPECT_EQ(back.asked, row.asked);
  EXPECT_EQ(back.judged, row.judged);
  EXPECT_EQ(back.instead, row.instead);
  EXPECT_EQ(back.classes, row.classes);
  EXPECT_EQ(back.may_refuse, row.may_refuse);
  EXPECT_TRUE(back.strict);
  EXPECT_EQ(gaps(back), gaps(row));
}

TEST(Gaps, AreThoseOfAllShards) {
  Row first = judged_row(125, 20), second = judged_row(125, 100);
  first.classes["groups above 1"] = {.refused = 3, .ordinary = true, .reasons = {"only groups 1"}};
  RunResult a = run_with(first), b = run_with(second);
  a.shard = "1/2";
  b.shard = "2/2";
  const Row sum = merge({{"a", a}, {"b", b}}).run.rows.at(0);
  EXPECT_EQ(sum.asked, 250u);
  EXPECT_EQ(sum.judged, 120u);
  EXPECT_TRUE(gaps(sum).empty());
  EXPECT_EQ(sum.classes.at("groups above 1").refused, 5u);
}

TEST(Gaps, AClassTableHasWhatWasJudgedRefusedAndNeverCalled) {
  const std::string text = class_table(run_with(judged_row(250, 200)), {});
  EXPECT_NE(text.find("window all 3  never called"), std::string::npos) << text;
  EXPECT_NE(text.find("layout step2  only refused: no gaps"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay

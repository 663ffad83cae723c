#include "reports/row.h"

#include <gtest/gtest.h>

#include "sample.h"

namespace assay {
namespace {

using enum Verdict;

Verdict verdict_with(std::initializer_list<std::pair<Verdict, int>> counts) {
  return row_of("relu", "cpu", "f32", counts).verdict;
}

TEST(RowVerdict, IsTheMostSevereFault) {
  EXPECT_EQ(verdict_with({{pass, 5}}), pass);
  for (const Verdict fault :
       {wrongly_accepted, wrongly_rejected, unstable, diverged, memory, timeout, crashed}) {
    EXPECT_EQ(verdict_with({{pass, 1'000'000}, {fault, 1}}), fault);
    EXPECT_EQ(verdict_with({{fault, 1}, {vacuous, 5}, {refused, 5}, {not_run, 5}, {suspicious, 5}}), fault);
  }
  EXPECT_EQ(verdict_with({{diverged, 5}, {memory, 1}}), memory);
  EXPECT_EQ(verdict_with({{crashed, 1}, {timeout, 9}}), crashed);
  EXPECT_EQ(verdict_with({{unstable, 9}, {diverged, 1}}), diverged);
}

TEST(RowVerdict, IsVacuousOnlyWhenEveryCaseIs) {
  EXPECT_EQ(verdict_with({{vacuous, 3}}), vacuous);
  EXPECT_EQ(verdict_with({{vacuous, 1000}, {pass, 1}}), pass);
  EXPECT_EQ(verdict_with({{vacuous, 3}, {refused, 5}}), vacuous);
  EXPECT_EQ(verdict_with({{vacuous, 3}, {not_run, 5}}), vacuous);
  EXPECT_EQ(verdict_with({{vacuous, 3}, {suspicious, 1}}), suspicious);
}

TEST(RowVerdict, IsVacuousAboveOnePercentUndecidable) {
  Row row = row_of("relu", "cpu", "f32", {{pass, 10}});
  row.elements = 10'000;
  row.undecidable_cases = 10;
  row.undecidable_elements = 100;
  EXPECT_EQ(row_verdict(row), pass);
  row.undecidable_elements = 101;
  EXPECT_EQ(row_verdict(row), vacuous);
  row.counts[static_cast<std::size_t>(suspicious)] = 1;
  EXPECT_EQ(row_verdict(row), vacuous);
  row.counts[static_cast<std::size_t>(diverged)] = 1;
  EXPECT_EQ(row_verdict(row), diverged);
}

TEST(RowVerdict, IsNotVacuousForAFewCasesThatHappenToBeUndecidable) {
  const auto with = [](std::uint64_t undecidable_cases, std::uint64_t cases) {
    Row row = row_of("native_layer_norm", "cpu", "bf16", {{pass, cases}});
    row.elements = 100 * cases;
    row.undecidable_cases = undecidable_cases;
    row.undecidable_elements = 100 * undecidable_cases;
    return row_verdict(row);
  };
  EXPECT_EQ(with(1, 10), pass);
  EXPECT_EQ(with(3, 150), pass);
  EXPECT_EQ(with(9, 150), vacuous);
  EXPECT_EQ(with(1, 1), vacuous);
  EXPECT_EQ(with(2, 3), vacuous);
  // Many cases leave nothing to chance.
  EXPECT_EQ(with(3, 199), pass);
  EXPECT_EQ(with(3, 200), vacuous);
  EXPECT_EQ(with(2, 200), pass);
  EXPECT_EQ(with(101, 10'000), vacuous);
}

TEST(RowVerdict, IsRefusedOnlyWhenEveryCaseWithResultsIs) {
  EXPECT_EQ(verdict_with({{refused, 3}}), refused);
  Row row = row_of("prelu", "torch", "f16", {{refused, 3}, {pass, 1}});
  EXPECT_EQ(row_verdict(row), refused) << "it rejected arguments that are wrong, and gave no result";
  row.elements = 1;
  EXPECT_EQ(row_verdict(row), pass);
  EXPECT_EQ(verdict_with({{pass, 1}}), pass) << "there are tensors without elements";
  EXPECT_EQ(verdict_with({{refused, 3}, {suspicious, 1}}), suspicious);
}

TEST(RowVerdict, IsNotRunWithoutCasesOrWhenSomeDidNotRun) {
  EXPECT_EQ(verdict_with({}), not_run);
  EXPECT_EQ(verdict_with({{not_run, 1}, {pass, 5}}), not_run);
  EXPECT_EQ(verdict_with({{not_run, 1}, {refused, 5}}), not_run);
}

TEST(Verdicts, HaveTokens) {
  for (int v = 0; v < kVerdicts; ++v)
    EXPECT_EQ(verdict_of(token(static_cast<Verdict>(v))), static_cast<Verdict>(v));
  try {
    verdict_of("fine");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "unknown verdict \"fine\"; the verdicts are pass, refused, vacuous, not_run, suspicious, wrongly_accepted, "
        "wrongly_rejected, unstable, diverged, memory, timeout, crashed");
  }
}

int code_of(std::vector<Row> rows, const Rules& rules = {}) {
  RunResult run;
  run.rows = std::move(rows);
  return exit_code(run, rules);
}

TEST(ExitCode, IsOneForEveryFaultAndForVacuousRows) {
  const Row good = row_of("relu", "cpu", "f32", {{pass, 5}});
  EXPECT_EQ(code_of({good}), 0);
  for (const Verdict fault :
       {wrongly_accepted, wrongly_rejected, unstable, diverged, memory, timeout, crashed, vacuous})
    EXPECT_EQ(code_of({good, row_of("relu", "cpu.avx2", "f32", {{fault, 1}})}), 1) << token(fault);
  for (const Verdict harmless : {refused, suspicious})
    EXPECT_EQ(code_of({good, row_of("relu", "cpu.avx2", "f32", {{harmless, 1}})}), 0) << token(harmless);
}

TEST(ExitCode, IsThreeWhereAKernelThatIsThereWasKeptFromRunning) {
  const Row good = row_of("relu", "cpu", "f32", {{pass, 5}});
  const Row not_here = row_of("relu", "cuda.gpu", "f32", {});
  EXPECT_EQ(code_of({good, not_here}), 0) << "a kernel that this machine cannot run has no cases";
  Row kept = row_of("mm", "cpu", "f32", {{not_run, 7}});
  EXPECT_EQ(code_of({good, kept}), 3);
  EXPECT_EQ(code_of({good, row_of("mm", "cpu", "f32", {{pass, 6}, {not_run, 1}})}), 3);
  EXPECT_EQ(code_of({good, kept, row_of("mm", "cpu.avx2", "f32", {{diverged, 1}})}), 1);
  kept.peer = true;
  EXPECT_EQ(code_of({good, kept}), 0);
}

TEST(ExitCode, LeavesPeersOutUnlessTheyAreNamed) {
  Row peer = row_of("relu", "torch", "f32", {{diverged, 1}});
  peer.peer = true;
  const Row good = row_of("relu", "cpu", "f32", {{pass, 5}});
  EXPECT_EQ(code_of({good, peer}), 0);
  peer.named = true;
  EXPECT_EQ(code_of({good, peer}), 1);
  peer.named = false;
  Rules rules;
  rules.decides = [](const Row& row) { return row.impl == "torch"; };
  EXPECT_EQ(code_of({good, peer}, rules), 1);
  EXPECT_EQ(
      code_of({row_of("relu", "cpu", "f32", {{crashed, 1}}), row_of("relu", "torch", "f32", {{pass, 1}})},
              rules),
      0);
}

TEST(ExitCode, IsOneForRefusalsThatWereNotDeclared) {
  Row row = row_of("relu", "cpu", "f32", {{pass, 5}, {refused, 2}});
  row.elements = 9;
  row.verdict = row_verdict(row);
  row.refused = {{"no strides", 1}, {"too large", 1}};
  EXPECT_EQ(code_of({row}), 0);
  row.undeclared = {{"too large", 1}};
  EXPECT_EQ(code_of({row}), 1);
  row.peer = true;
  EXPECT_EQ(code_of({row}), 0);
  row.peer = false;
  row.undeclared.clear();
  Rules rules;
  rules.declared = [](const Row&, std::string_view reason) { return reason != "no strides"; };
  EXPECT_EQ(code_of({row}, rules), 1);
}

TEST(ShownFailures, HaveTheFirstOfEachCause) {
  Row row = row_of("relu", "cpu", "f32", {{diverged, 9}});
  for (const char* cause : {"a", "a", "a", "a", "b", "b", "c", "d"}) {
    Failure f;
    f.diagnosis = cause;
    f.index = row.failures.size();
    row.failures.push_back(f);
  }
  const auto shown = [&](std::size_t most) {
    std::vector<std::uint64_t> indices;
    for (const Failure* f : shown_failures(row, most)) indices.push_back(f->index);
    return indices;
  };
  EXPECT_EQ(shown(6), (std::vector<std::uint64_t>{0, 1, 2, 4, 6, 7}));
  EXPECT_EQ(shown(3), (std::vector<std::uint64_t>{0, 4, 6, 7}));
  EXPECT_EQ(shown(1), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(shown(0), (std::vector<std::uint64_t>{}));
}

TEST(ExitCode, IsThreeWhenTheMachineLacksEverything) {
  Row absent = row_of("relu", "cuda.gpu", "f32", {});
  absent.reason = "no CUDA device";
  EXPECT_EQ(code_of({absent, absent}), 3);
  EXPECT_EQ(code_of({}), 3);
  EXPECT_EQ(code_of({absent, row_of("relu", "cpu", "f32", {{pass, 1}})}), 0);
  EXPECT_EQ(code_of({absent, row_of("relu", "cpu", "f32", {{diverged, 1}})}), 1);
  EXPECT_EQ(code_of({absent, row_of("relu", "cpu", "f32", {{refused, 1}})}), 3);
  Row empty = row_of("relu", "cpu", "f32", {});
  empty.reason = kNoCases;
  EXPECT_EQ(code_of({empty}), 0);
  EXPECT_EQ(code_of({empty, absent}), 0);
}

TEST(ExitCode, IsThreeWhereEveryCaseWasRefused) {
  const Row refuses = row_of("relu", "cpu", "f32", {{refused, 5}}),
            passes = row_of("relu", "cpu", "f64", {{pass, 5}});
  EXPECT_EQ(code_of({refuses, refuses}), 3);
  EXPECT_EQ(code_of({refuses, passes}), 0);
  RunResult shard;
  shard.rows = {refuses};
  shard.shard = "1/4";
  EXPECT_EQ(exit_code(shard), 0);
  shard.shard.reset();
  EXPECT_EQ(exit_code(shard), 3);
}

}  // namespace
}  // namespace assay

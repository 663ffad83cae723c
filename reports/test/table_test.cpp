#include "reports/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "reports/text.h"
#include "sample.h"

namespace assay {
namespace {

TEST(Table, HasThisText) {
  EXPECT_EQ(table(sample_run()), R"(prelu            f32                    cases
  cpu.avx2       DIVERGED 2                10
  cpu.amx        refused                   10
  cpu.baseline   pass 0.50 ~0.2%           10
  cuda.gpu       not run                    0

relu             f32                    cases
  onednn (peer)  crashed 1                 10

After "pass": the largest error seen, where 1 is the most that is allowed. After a fault: how many cases show it.
~: the share of elements for which any result would have passed.

Not run: this machine lacks something that these kernels need.
  no CUDA device
      cuda.gpu for prelu

Refused: 10 cases that kernels say they do not support.
  no f32 in AMX
      10 cases: cpu.amx for prelu

Peers that disagree: other libraries, run for comparison; these do not decide the run.
  relu onednn f32: crashed in 1 of 10 cases
    relu:f32:self=
      SIGSEGV
      assay replay out/b.h5

Faults: each with the smallest case that shows it and the command that runs it again.
  prelu cpu.avx2 f32: diverged in 2 of 10 cases
    prelu:f32:self=2x3,weight=3
      out[0,1] is 2, allowed is 1 to 1
      assay replay out/a.h5
    prelu:f32:self=2x3@offset(1),weight=3
      out[1,1] is NaN
      diagnosis of the cases as they were found: slope is 0
      assay verify --impl cpu.avx2 --case 'prelu:f32:self=2x3@offset(1),weight=3'

FAILED: 1 of 4 rows at fault (1 pass, 1 refused, 1 not run, 1 diverged). Peers: 1 crashed.
40 cases, 10 of them refused, in 1.5 s, seed 42.
)");
}

// Failures of other shapes may have one cause.
TEST(Table, SaysACauseOnceThatSeveralFailuresOfARowShare) {
  RunResult run = sample_run();
  const auto row = std::ranges::find(run.rows, Verdict::diverged, &Row::verdict);
  ASSERT_NE(row, run.rows.end());
  Failure f;
  f.case_text = "prelu:f32:self=2x3,weight=3";
  f.diagnosis = "slope is 0";
  Failure other = f, same = f;
  other.case_text = "prelu:f32:self=9x3x4,weight=3";
  other.diagnosis = "weight is read elsewhere";
  same.case_text = "prelu:f32:self=7x3x5x2,weight=3";
  row->failures = {f, other, same, other};
  const std::string text = table(run);
  const auto times = [&](std::string_view part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(times("slope is 0"), 1) << text;
  EXPECT_EQ(times("weight is read elsewhere"), 1) << text;
  EXPECT_GT(times("diagnosis: that of the first of these cases"), 0) << text;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

std::string conclusion(std::vector<Row> rows) {
  RunResult run;
  run.rows = std::move(rows);
  return last_line(table(run));
}

TEST(Table, EndsWithTheAnswer) {
  const Row good = row_of("relu", "cpu", "f32", {{Verdict::pass, 1200}});
  EXPECT_EQ(conclusion({good}), "PASSED: no fault in 1 row (1 pass). 1,200 cases in 0.0 s, seed 0.");
  Row absent = row_of("relu", "cuda.gpu", "f32", {});
  absent.reason = "no CUDA device";
  EXPECT_EQ(
      conclusion({absent}),
      "NOTHING RAN: this machine lacks what every kernel needs; see \"Not run\" above. 0 cases in 0.0 s, seed 0.");
  EXPECT_EQ(conclusion({row_of("relu", "cpu", "f32", {{Verdict::refused, 2}}), absent}),
            "NOTHING RAN: every case was refused; see \"Refused\" above. 2 cases, 2 of them refused, in 0.0 s, seed 0.");
  Row empty = row_of("relu", "cpu", "f32", {});
  empty.reason = kNoCases;
  EXPECT_EQ(conclusion({empty}),
            "NOTHING TO DO: none of the cases belongs to this run. 0 cases in 0.0 s, seed 0.");
  Row undeclared = row_of("relu", "cpu", "f64", {{Verdict::pass, 1}, {Verdict::refused, 1}});
  undeclared.elements = 1;
  undeclared.refused = undeclared.undeclared = {{"not today", 1}};
  EXPECT_EQ(
      conclusion({good, undeclared}),
      "FAILED: 1 of 2 rows at fault (1 with undeclared refusals, 1 pass). 1,202 cases, 1 of them refused, in 0.0 s, seed 0.");
  RunResult stopped;
  stopped.rows = {row_of("relu", "cpu", "f32", {}), absent};
  stopped.rows[0].reason = kNoCases;
  EXPECT_EQ(exit_code(stopped), 0) << "a shard may have no case";
  stopped.complete = false;
  RunResult cut = stopped;
  cut.rows[0] = good;
  EXPECT_EQ(last_line(table(cut)),
            "NO FAULT SO FAR in 2 rows (1 pass, 1 not run). 1,200 cases in 0.0 s, seed 0.");
  EXPECT_EQ(exit_code(stopped), 3);
  EXPECT_EQ(last_line(table(stopped)),
            "NOTHING RAN: the run was stopped before its first case. 0 cases in 0.0 s, seed 0.");
  RunResult kept;
  kept.rows = {good, absent, row_of("mm", "cpu", "f32", {{Verdict::not_run, 7}})};
  EXPECT_NE(
      table(kept).find(
          "NOT ALL RAN: no fault in 3 rows (1 pass, 2 not run), but 1 could not be run; see \"Not run\" above.\n"),
      std::string::npos);
  EXPECT_EQ(conclusion({}), "NOTHING RAN: there is no kernel to run. 0 cases in 0.0 s, seed 0.");
  EXPECT_EQ(conclusion({good, row_of("relu", "cpu", "f64", {{Verdict::vacuous, 2}})}),
            "FAILED: 1 of 2 rows at fault (1 pass, 1 vacuous). 1,202 cases in 0.0 s, seed 0.");
}

TEST(Table, CountsFixturesAndWhatIsNoneByReason) {
  RunResult run = sample_run();
  EXPECT_EQ(table(run).find("Fixtures"), std::string::npos);
  run.fixtures = FixtureCount{"onnx", 12, {{"a few", 2}, {"many", 5}}};
  const std::string text = table(run);
  EXPECT_NE(text.find("Fixtures: 5 of 12 recorded cases in onnx are of Assay's operators.\n"
                      "  5 not: many\n  2 not: a few\n"),
            std::string::npos)
      << text;
}

TEST(Table, SaysThatTheRunIsIncomplete) {
  RunResult run = sample_run();
  run.complete = false;
  run.incomplete = "stopped by Ctrl-C";
  run.cases_not_run = 1234;
  run.shard = "2/4";
  const std::string text = table(run);
  EXPECT_NE(
      text.find(
          "\nINCOMPLETE: stopped by Ctrl-C; 1,234 generated cases not run, over all operators and dtypes, invalid calls included\nFAILED: "),
      std::string::npos);
  EXPECT_NE(text.find(", seed 42, shard 2/4.\n"), std::string::npos);
}

TEST(Table, SaysNoVerdictTwice) {
  RunResult run;
  Row row = row_of("relu", "cpu", "f32", {{Verdict::wrongly_accepted, 1}, {Verdict::crashed, 1}});
  row.verdict = row_verdict(row);
  Failure failure;
  failure.kind = Verdict::wrongly_accepted;
  failure.detail = words(failure.kind) + ": self has no dimension 3";
  row.failures = {failure};
  run.rows = {row};
  const std::string text = table(run);
  EXPECT_NE(text.find("  took arguments that are wrong: self has no dimension 3\n"), std::string::npos)
      << text;
  EXPECT_EQ(without_words(Verdict::not_run, "not run: no device"), "no device");
  EXPECT_EQ(without_words(Verdict::not_run, "no device"), "no device");
}

TEST(Table, DtypesThatDoNotFitStandBelow) {
  RunResult run;
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"})
    run.rows.push_back(
        row_of("a_name_that_takes_much_of_a_line_by_itself", "cpu", dtype, {{Verdict::pass, 1}}));
  const std::string text = table(run);
  EXPECT_NE(text.find("\na_name_that_takes_much_of_a_line_by_itself (more dtypes)\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find(" \n"), std::string::npos) << text;
  for (const Row& row : run.rows) EXPECT_NE(text.find(' ' + row.dtype), std::string::npos) << row.dtype;
}

TEST(Table, ExplainsVacuousRowsAndUndeclaredRefusals) {
  Row undecidable = row_of("relu", "cpu", "f32", {{Verdict::pass, 4}});
  undecidable.elements = 1000;
  undecidable.undecidable_elements = 21;
  undecidable.undecidable_cases = 4;
  undecidable.verdict = row_verdict(undecidable);
  Row refusing = row_of("relu", "cpu", "f64", {{Verdict::pass, 4}, {Verdict::refused, 2}});
  refusing.refused = {{"large", 2}};
  refusing.undeclared = {{"large", 2}};
  RunResult run;
  run.rows = {undecidable, refusing, row_of("relu", "cpu", "f16", {{Verdict::vacuous, 4}})};
  const std::string text = table(run);
  EXPECT_NE(
      text.find(
          "  relu cpu f32: vacuous: any result at all would have passed for 2.1% of its elements; above 1% "
          "proves too little\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  relu cpu f64: refused 2 cases without having declared it\n"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          "      2 cases: cpu for relu (2 of them not declared beforehand by the kernel's `refuses`)\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  relu cpu f16: vacuous: none of its cases could have shown a fault\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("VACUOUS ~2.1%"), std::string::npos) << text;
}

TEST(Table, SumsUpWhatPeersRefuse) {
  RunResult run;
  for (const char* impl : {"onednn.avx2", "torch"}) {
    Row row;
    row.op = "relu";
    row.impl = impl;
    row.dtype = "f16";
    row.peer = true;
    row.cases = 1200;
    row.counts[static_cast<std::size_t>(Verdict::refused)] = 1200;
    row.refused["a reason that only the run file tells"] = 1200;
    row.undeclared = row.refused;
    row.verdict = row_verdict(row);
    run.rows.push_back(row);
  }
  const std::string peers = table(run);
  EXPECT_NE(peers.find("Refused by peers: 2,400 cases"), std::string::npos) << peers;
  EXPECT_NE(peers.find("onednn.avx2 1,200, torch 1,200"), std::string::npos) << peers;
  EXPECT_EQ(peers.find("only the run file"), std::string::npos) << peers;
  // A peer that decides is told its reasons.
  const std::string named = table(run, {.decides = [](const Row& row) { return row.impl == "torch"; }});
  EXPECT_NE(named.find("a reason that only the run file tells"), std::string::npos) << named;
}

TEST(Table, ShortensLongLists) {
  RunResult run = sample_run();
  run.rows = {run.rows[0]};
  run.rows[0].failures.resize(12, run.rows[0].failures[0]);
  EXPECT_NE(table(run).find("    and 9 more in the run file\n"), std::string::npos);
  for (int i = 0; i < 30; ++i) run.rows[0].refused["reason " + std::to_string(i)] = 1;
  EXPECT_NE(table(run).find("  and 10 more reasons, which the run file lists\n"), std::string::npos);
  run.rows.resize(3, run.rows[0]);
  const std::string text = table(run, {}, {.rows_with_failures = 1});
  EXPECT_NE(text.find("    and 12 more in the run file\n"), std::string::npos);
}

TEST(Table, HasNoColoursUnlessAsked) {
  EXPECT_EQ(table(sample_run()).find('\x1b'), std::string::npos);
  const std::string coloured = table(sample_run(), {}, {.colour = true});
  EXPECT_NE(coloured.find("\x1b[1;31mDIVERGED 2"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[33mcrashed 1"), std::string::npos);
  // Without the colours it is the same text.
  std::string plain;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b')
      i = coloured.find('m', i);
    else
      plain += coloured[i];
  }
  EXPECT_EQ(plain, table(sample_run()));
}

// Six operators, nine kernels and many dtypes, with names and messages of every length.
RunResult large_run(int dtypes, std::size_t longest_name) {
  RunResult run;
  std::size_t n = 0;
  for (int op = 0; op < 6; ++op)
    for (int impl = 0; impl < 9; ++impl)
      for (int dtype = 0; dtype < dtypes; ++dtype, ++n) {
        const auto verdict = static_cast<Verdict>(n % kVerdicts);
        Row row = row_of("", "", "", {{verdict, 12345}});
        row.op = "op" + std::string((static_cast<std::size_t>(op) * longest_name) / 6, 'o');
        row.impl = "cpu" + std::to_string(impl) +
                   std::string((static_cast<std::size_t>(impl) * longest_name) / 9, 'k');
        row.dtype = "f" + std::to_string(dtype);
        row.peer = impl > 6;
        row.elements = 1000;
        row.undecidable_elements = n % 9;
        row.worst = 0.99;
        row.reason = std::string(n, 'r') + " because " + std::string(n / 2, 's');
        row.refused[row.reason] = 1;
        row.failures = {{std::string(n + 1, 'c'), verdict, std::string(n, 'd') + "\n\x1b[2J more",
                         n % 2 == 0 ? "" : std::string(n, 'p'), "", 1}};
        run.rows.push_back(std::move(row));
      }
  return run;
}

TEST(Table, IsNeverTooWideAndNeverSteersTheTerminal) {
  for (const int dtypes : {1, 4, 12})
    for (const std::size_t longest : {0u, 30u, 45u, 300u}) {
      std::istringstream lines(table(large_run(dtypes, longest)));
      for (std::string line; std::getline(lines, line);) {
        // But for a word that is wider, which is there to be copied.
        ASSERT_TRUE(width(line) <= 120u || line.find(' ', line.find_first_not_of(' ')) == std::string::npos)
            << line;
        ASSERT_EQ(line.find('\x1b'), std::string::npos);
      }
    }
}

TEST(Table, KeepsAWholeRunReadable) {
  RunResult run;
  for (const char* op : {"add.Tensor", "mm", "prelu", "prelu_backward", "relu", "softmax.int"})
    for (const char* impl : {"cpu.baseline", "cpu.avx2", "cpu.avx512", "cpu.amx", "cuda.gpu", "cuda.emulated",
                             "onednn.avx2", "onednn.avx512_core_bf16", "torch"})
      for (const char* dtype : {"bf16", "f16", "f32", "f64"})
        run.rows.push_back(row_of(op, impl, dtype, {{Verdict::pass, 500}}));
  const std::string text = table(run);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 6 * (9 + 2) + 4);
}

}  // namespace
}  // namespace assay

// A small run with one row of every kind.
#pragma once

#include "reports/row.h"

namespace assay {

inline Row row_of(const char* op, const char* impl, const char* dtype,
                  std::initializer_list<std::pair<Verdict, int>> counts) {
  Row row;
  row.op = op;
  row.impl = impl;
  row.dtype = dtype;
  for (const auto& [verdict, n] : counts) {
    row.counts[static_cast<std::size_t>(verdict)] = static_cast<std::uint64_t>(n);
    row.cases += static_cast<std::uint64_t>(n);
  }
  row.verdict = row_verdict(row);
  return row;
}

inline RunResult sample_run() {
  RunResult run;
  run.command = {"assay", "verify", "prelu", "--seed", "42"};
  run.machine = {"Xeon <test>",      8,
                 {"avx2", "avx512"}, {{"dnnl", "2.7.5"}, {"torch", "missing: apt install python3-torch"}},
                 "g++ 12.2",         "0.1.0"};
  run.seed = 42;
  run.seconds = 1.5;

  Row good = row_of("prelu", "cpu.baseline", "f32", {{Verdict::pass, 9}, {Verdict::vacuous, 1}});
  good.elements = 4000;
  good.undecidable_elements = 8;
  good.worst = 0.5;
  good.worst_case = "prelu:f32:self=2x3,weight=3";

  Row bad = row_of("prelu", "cpu.avx2", "f32", {{Verdict::pass, 8}, {Verdict::diverged, 2}});
  bad.elements = 4000;
  bad.worst = 12345.0;
  bad.failures = {
      {"prelu:f32:self=2x3,weight=3", Verdict::diverged, "out[0,1] is 2, allowed is 1 to 1", "out/a.h5", "",
       3},
      {"prelu:f32:self=2x3@offset(1),weight=3", Verdict::diverged, "out[1,1] is NaN", "", "slope is 0", 7}};

  Row refusing = row_of("prelu", "cpu.amx", "f32", {{Verdict::refused, 10}});
  refusing.refused = {{"no f32 in AMX", 10}};

  Row absent = row_of("prelu", "cuda.gpu", "f32", {});
  absent.reason = "no CUDA device";

  Row peer = row_of("relu", "onednn", "f32", {{Verdict::pass, 9}, {Verdict::crashed, 1}});
  peer.peer = true;
  peer.information = "jit:avx2";
  peer.failures = {{"relu:f32:self=", Verdict::crashed, "SIGSEGV", "out/b.h5", "", 1}};

  run.rows = {bad, refusing, good, absent, peer};
  return run;
}

}  // namespace assay

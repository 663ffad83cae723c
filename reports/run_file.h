// Run files: a RunResult as JSON, format "assay.run/1".
//
//   {"format", "command", "machine", "seed", "contract", "seconds", "complete", "incomplete", "cases_not_run", "shard",
//    "short_run": {"budget", "cases", "of", "left_out": [kernel], "sampled": {kernel: cases}},
//    "results": [{"op", "impl", "peer", "named", "literally", "dtype", "verdict", "cases", "counts", "refused",
//                 "undeclared", "given_up", "needs", "elements", "undecidable", "undecidable_cases", "worst", "worst_case",
//                 "reason", "information", "asked", "judged", "instead",
//                 "classes": {"judged": {class: cases}, "refused": {class: cases}, "reasons": {class: [reason]}},
//                 "strict", "may_refuse": [glob], "gaps": [text],
//                 "failures": [{"case", "index", "kind", "detail", "replay", "plugin", "contract", "diagnosis",
//                               "harms_others", "harmed": {"impl", "case", "repeated", "before": [case], "after_repeats"}}],
//                 "replaced": {"counts", "refused", "undeclared", "needs"}}],
//    "ordinary_classes": {operator: [class]}, "summary": {token: rows}, "passed_by_declaration": {field: rows}, "fixtures": {"source", "found", "left_out"},
//    "accesses": [{"place", "kernel", "access", "requests", "units", "least"}]}
//
//   named        --impl named the kernel, so that its row decides the exit code even if it is a peer
//   literally    and not by a glob, so that the run is none (exit code 3) if the kernel did not run. Absent: it did not
//   verdict      of `counts` the most severe; of a row that fails the run for another reason alone `undeclared_refusal` or `gaps`,
//                which `counts` does not have
//   given_up     cases that were not judged because calls of the kernel had not returned again and again before; among the not_run of
//                `counts`. Absent: 0
//   cases        cases executed; `counts` says how many had which verdict, `refused` how many for which
//                reason, `undeclared` which of those the kernel had not declared beforehand
//   needs        of a peer or plugin: by field of its contract that is no strict one ("nonfinite=unspecified"), in how many cases
//                elements passed by it that would not have without it; "exp=2ulp or div=1" where each of several suffices, "several
//                together" where no one does.
//                Absent: none did, of up to 48 elements of each case that were looked at again. Fields about bits are not tried
//   passed_by_declaration   of the rows that pass: how many do by each field of `needs`. For other programs, not read back
//   asked        generated cases that the row was to judge; absent: 0, a list's
//   judged       cases whose results were judged, `instead` of them in place of refused ones (both absent: 0). `cases` and `counts`
//                have those too, and not what was tried for them and refused
//   classes      of rows that decide: how many cases of each class of calls were judged, and refused (absent: none); why, of a class of
//                which no case was judged. Those of `ordinary_classes` have no case where nothing is said of them
//   gaps         what the row leaves unknown, in words; not read back. `strict`: they fail it; `may_refuse`: but for refusals of
//                these reasons
//   undecidable  share of `elements` that any result would have passed, 0 to 1; `undecidable_cases`: cases that had any
//   worst        largest error/bound seen
//   contract     of a run with --contract: its text, which every kernel was judged by; absent: each was by what it declares. The same
//                of a failure, for whoever judges its case again
//   harms_others the call is wrong only in what it does to calls after it. Absent: as `harmed` is
//   harmed       of a kernel that damaged its process: whose call, of which case, went wrong after it. `before`: its own cases that must
//                be called before its `case`; `repeated`, `after_repeats`: that call, or its own, is made again and again. Absent: none
//   replaced     of a part of a row, in a journal alone: cases of other parts, by verdict, in whose place cases of this one stand
//   shard        "I/N", or null
//   short_run    only of one: its budget in seconds; how many cases each operator and dtype had, of how many; the kernels that were
//                left out; the peers that had only so many of the cases. It is complete, and `cases_not_run` counts what it left out
//   ordinary_classes  those that calls of networks are of
//   fixtures     only of a run on fixtures: what was named, how many cases it has, how many were left out for
//                which reason
//   plugin       only of a plugin's kernel: its library, for `assay replay FILE --plugin LIB`
//   accesses     only with --check: sectors or passes (`units`) that the warps' accesses of a line took, and how few could do
//
// JSON knows no infinities and no NaN: such numbers are the strings "inf", "-inf" and "nan". Bytes that are
// not UTF-8 are written as U+FFFD. Readers ignore keys they do not know; `summary` is for other programs and
// not read back.
#pragma once

#include <string>
#include <string_view>

#include "result.h"

namespace assay {

// What "format" says.
inline constexpr std::string_view kRunFormat = "assay.run/1";

std::string to_json(const RunResult& run);
// `name` stands for the text in error messages. Throws FileError that names it and the key that is wrong.
RunResult run_from_json(std::string_view text, const std::string& name);

// A row alone, as it stands in `results`.
std::string row_json(const Row& row);
Row row_from_json(std::string_view text, const std::string& name);

// "-" is standard output or standard input; a journal (journal.h) is what it comes to. Throw FileError, see file.h.
void write_run_file(const std::string& path, const RunResult& run);
RunResult read_run_file(const std::string& path);

}  // namespace assay

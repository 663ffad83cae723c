// Run files: a RunResult as JSON, format "assay.run/1".
//
//   {"format", "command", "machine", "seed", "seconds", "complete", "incomplete", "cases_not_run", "shard",
//    "short_run": {"budget", "cases", "of", "left_out": [kernel], "sampled": {kernel: cases}},
//    "results": [{"op", "impl", "peer", "named", "dtype", "verdict", "cases", "counts", "refused",
//                 "undeclared", "elements", "undecidable", "undecidable_cases", "worst", "worst_case",
//                 "reason", "information", "asked", "judged", "instead",
//                 "classes": {"judged": {class: cases}, "refused": {class: cases}, "reasons": {class: [reason]}},
//                 "strict", "may_refuse": [glob], "gaps": [text],
//                 "failures": [{"case", "index", "kind", "detail", "replay", "plugin", "diagnosis"}]}],
//    "ordinary_classes": {operator: [class]}, "summary": {token: rows}, "fixtures": {"source", "found", "left_out"},
//    "accesses": [{"place", "kernel", "access", "requests", "units", "least"}]}
//
//   named        --impl named the kernel, so that its row decides the exit code even if it is a peer
//   cases        cases executed; `counts` says how many had which verdict, `refused` how many for which
//                reason, `undeclared` which of those the kernel had not declared beforehand
//   asked        generated cases that the row was to judge; absent: 0, a list's
//   judged       cases whose results were judged, `instead` of them in place of refused ones (both absent: 0). `cases` and `counts`
//                have those too, and not what was tried for them and refused
//   classes      of rows that decide: how many cases of each class of calls were judged, and refused (absent: none); why, of a class of
//                which no case was judged. Those of `ordinary_classes` have no case where nothing is said of them
//   gaps         what the row leaves unknown, in words; not read back. `strict`: they fail it; `may_refuse`: but for refusals of
//                these reasons
//   undecidable  share of `elements` that any result would have passed, 0 to 1; `undecidable_cases`: cases that had any
//   worst        largest error/bound seen
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

std::string to_json(const RunResult& run);
// `name` stands for the text in error messages. Throws FileError that names it and the key that is wrong.
RunResult run_from_json(std::string_view text, const std::string& name);

// "-" is standard output or standard input. Throw FileError, see file.h.
void write_run_file(const std::string& path, const RunResult& run);
RunResult read_run_file(const std::string& path);

}  // namespace assay

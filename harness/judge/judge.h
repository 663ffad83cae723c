// Turns what a kernel did into a verdict.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../model/kernel.h"
#include "../model/outcome.h"
#include "expectation.h"
#include "reports/verdict.h"

namespace assay {

struct Judgement {
  Verdict verdict = Verdict::pass;
  std::string detail;  // a plain sentence; for refused and not_run the reason
  std::uint64_t elements = 0;
  std::uint64_t undecidable = 0;
  double worst = 0;  // largest error/bound among the elements whose interval was needed
  bool undeclared_refusal = false;
  bool given_up = false;  // not_run because the kernel hung again and again before
  Doing doing = Doing::its_own;
};

// Intervals cost far more than values, and are computed only for elements that are not the rounded reference. If an output has more of these
// than this number, only so many are judged: those whose relative difference from the reference is largest.
inline constexpr std::size_t kMostIntervals = 4096;

// The verdict on one outcome. `expectation` is null when the call's arguments are not allowed: then the kernel must
// refuse them, naming the argument to blame.
Judgement judge(const Kernel& kernel, const Contract& contract, const Call& call, Expectation* expectation,
                const Outcome& outcome);

// Where two runs of a call differ, in words: "out[3] is 1 with one thread and 2 with three". Empty if they do not; any NaN
// equals any NaN. Results are packed, one for each output.
std::string first_difference(const Call& call, const PackedResults& a, std::string_view when_a,
                             const PackedResults& b, std::string_view when_b);

// Results that were recorded: packed, one for each output of the call, or nothing where none was.
using ExpectedOutputs = std::vector<std::optional<std::vector<std::byte>>>;

// The verdict on results alone: diverged, vacuous or pass.
Judgement judge_outputs(const Contract& contract, Expectation& expectation, const ExpectedOutputs& outputs);

// The contract of a kernel for a call: that of the first result's dtype.
Contract contract_for(const Kernel& kernel, const Call& call);

// What a call left otherwise for whoever runs next, for after "left "; empty: nothing.
std::string left_text(const Outcome& outcome);

}  // namespace assay

// The verdict on results of a program, with what a message about them needs: which elements are wrong, and how many were looked at.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../judge/judge.h"

namespace assay::serve {

// An element that was judged by its interval, or in integers.
struct JudgedElement {
  std::int64_t at = 0;  // row-major
  double actual = 0;
  Interval right;
  std::optional<std::int64_t> integer{}, right_integer{};  // where the operator is computed in integers
  double ratio = 0;                                        // error over bound
  std::string text{};                                      // "out[0,1] is 1.5, but must be [1.25, 1.2500001]"
};

struct JudgedOutput {
  std::size_t output = 0;
  std::uint64_t elements = 0;
  std::uint64_t as_reference = 0;   // are the reference, rounded: right without a look at their bounds
  std::uint64_t by_interval = 0;    // others that were held against their bound, or, of integers, all others
  std::uint64_t not_looked_at = 0;  // others that were not
  std::uint64_t mismatched = 0;     // of those by interval
  std::uint64_t undecidable = 0;    // of those by interval: anything would pass
  double worst = 0;                 // largest error over bound of those by interval; NaN and infinities aside
  double most_absolute = 0, most_relative = 0;  // differences from the reference, of those that mismatch
  std::vector<JudgedElement> first;             // that mismatch, by their place
  std::optional<JudgedElement> farthest;        // of those that mismatch
};

struct Judged {
  Verdict verdict = Verdict::pass;    // or diverged, or vacuous
  std::vector<JudgedOutput> outputs;  // of the results that were given

  std::uint64_t elements() const;
  std::uint64_t mismatched() const;
};

// How many elements that are not the reference, rounded, are held against their bounds. Those come first whose relative difference from
// the reference is largest, and, as an eighth of them, those whose absolute difference is.
struct Sampling {
  // Nothing: as many as take so long, of up to so many; the first kFewest in any case.
  std::optional<std::uint64_t> most;
  std::chrono::milliseconds time{200};
};
inline constexpr std::uint64_t kFewest = 64, kMostUnasked = std::uint64_t{1} << 17;

// Precondition: each result that is there has the size of its output. `listed`: so many elements of `first`.
Judged judge_results(Expectation& expectation, const Contract& contract, const ExpectedOutputs& results,
                     const Sampling& sampling, std::size_t listed);

}  // namespace assay::serve

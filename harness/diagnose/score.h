// How well diagnosis names faults that are planted: the self-test's variants, one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diagnosis.h"

namespace assay::diagnose {

struct Score {
  std::string op, dtype, variant;
  std::vector<std::string> cases;  // on which it was planted
  // 0: it is named first, or nobody can tell the first from it on this data; 1, 2, ..: it stands so far after; -1: it is not named.
  int place = -1;
  std::string said;  // the summary
};

struct Scores {
  std::vector<Score> scores;
  std::uint64_t hidden = 0;         // variants that diverged in none of the cases
  std::vector<std::string> alarms;  // causes that were named for the reference itself: there must be none
};

struct ScoreOptions {
  std::vector<std::string> variants;  // shell globs on names; empty: all
  std::uint64_t seed = 0;
  std::size_t every = 1;  // only every so many'th variant of an operator, another one for each
  int jobs = 0;           // 0: one for each core
};

// Plants each variant that shows in results in the first few generated cases in which enough elements diverge. Operators without one of these
// dtypes give nothing. `progress` is told what was done, of how many.
Scores score(
    const std::vector<const Operator*>& operators, const std::vector<Dtype>& dtypes,
    const ScoreOptions& options, const std::atomic<bool>& interrupted,
    const std::function<void(std::size_t done, std::size_t all, const std::string& doing)>& progress);

// A line for each operator, each variant that was not named first, and the sum.
std::string to_text(const Scores& scores, Style style);
// {"format": "assay.diagnosis-score/1", "scores": [{"op", "dtype", "variant", "cases", "place", "said"}], "hidden", "alarms", "sum": {..}}
std::string to_json(const Scores& scores);

}  // namespace assay::diagnose

// What two benchmark files of separate runs can say about each other.
//
// Two processes that run the same code differ: on machines that others use, medians of the same kernel by 15% and more. What was
// measured within one run is steadier: the ratio to the same peer, in the same rounds. So a row is compared by that ratio where
// both files have it, and by its time only where the machine is the same, with a wide margin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "result_file.h"

namespace assay {

inline constexpr double kCompareRatio = 0.10;  // by which ratios to a peer must differ to mean anything
inline constexpr double kCompareTime = 0.25;   // and times

struct Compared {
  // level: the interval lies within the margin; undecided: it reaches beyond, or there were too few rounds to have one.
  enum class Verdict : std::uint8_t {
    slower,
    faster,
    level,
    undecided,
    incomparable
  } verdict = Verdict::incomparable;
  BenchRow row;  // of the new file
  bool by_ratio = false;
  Estimate change;  // new over base: 1.1 is slower by 10%
};

struct Comparison {
  std::vector<Compared> rows;
  std::vector<BenchRow> lost;       // measured in the base; what the new file says of them
  std::vector<BenchRow> only_base;  // of which the new file says nothing
  std::vector<BenchRow> only_new;
  bool same_machine = true;
};

Comparison compare(const ResultFile& base, const ResultFile& fresh);

}  // namespace assay

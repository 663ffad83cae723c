// What all comparisons of the regression gate come to.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gate.h"

namespace assay {

struct GateTally {
  std::map<SpeedVerdict, int> counts;
  std::map<std::string, std::uint64_t> unseen;  // why it could not be seen whether code is the same
  int without = 0;                              // not compared
  int failed = 0;                               // of these, by the candidate's fault
  std::size_t timed = 0;
  std::size_t by_one_thread = 0;  // of these; others' clock is the wall's
  std::size_t contended = 0;      // of these, while others had the processor
  Canary canary;
  bool interrupted = false;

  void add(const BenchRow& row);

  // Why this machine is not fit to judge now; empty if it is.
  std::string unfit() const;

  enum class End : std::uint8_t {
    well,
    fault,        // a regression, or a kernel of the candidate that is not right, which no noise excuses
    unfit,        // or nothing could be compared
    interrupted,  // before there was one of these
  };
  End end() const;
};

}  // namespace assay

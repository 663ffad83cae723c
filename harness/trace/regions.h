// Judging calls that a dump does not have together with the next one that it has, as one graph (region.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "../diagnose/diagnosis.h"
#include "../diagnose/evidence.h"
#include "bisect.h"
#include "region.h"

namespace assay {

// What the dump has of a call's results, and what that has lost.
struct DumpedResults {
  struct One {
    std::string output;
    Shape shape;
    std::vector<std::byte> packed;
    std::optional<Dtype> stored;  // the narrower dtype, as in diagnose::Rounding
    std::vector<double> moved;    // the same
  };
  std::vector<One> all;
  bool narrow = false;  // what lies between may have been rounded on its way, which `moved` has
};

struct JudgedRegion {
  std::unique_ptr<Region> region;
  std::unique_ptr<diagnose::Evidence> evidence;  // of region->call
  std::size_t last = 0;
  DumpedResults dumped;  // of the last call
  std::string contract;
};

// As it is recorded, and where that does not give it, with batch norms folded into convolutions.
std::variant<JudgedRegion, NoRegion> judged_as_one(const RegionSources& from, std::size_t last,
                                                   const DumpedResults& dumped, const std::string& contract);

// What a bisection says of it.
BisectedCall::Together said_of(const RegionSources& from, const JudgedRegion& judged);

// Why it is wrong, in the graph's names. Nothing is read off results of which a bound admits nearly all.
diagnose::Diagnosis cause_of(const RegionSources& from, JudgedRegion& judged,
                             const diagnose::Options& options);
// The same where nothing diverges, as diagnose::doubt_of() has it.
inline constexpr std::chrono::milliseconds kMostDoubting{2000};  // of one call
std::optional<diagnose::Diagnosis> doubt_of(JudgedRegion& judged);
// The node that the cause named first is about, as people call it; or empty.
std::string place_of(const JudgedRegion& judged, const diagnose::Diagnosis& d);
// In place of the graph's names.
void call_by_name(const JudgedRegion& judged, diagnose::Diagnosis& d);

}  // namespace assay

// How long failures may be looked into: for each row of failures its share of the time for all.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

namespace assay {

class Allowance {
 public:
  using Clock = std::chrono::steady_clock;

  // For so many rows, of which so many at a time.
  Allowance(Clock::time_point end, std::size_t rows, std::size_t lanes)
      : end_(end), rows_(rows), lanes_(lanes) {}

  // Until when the next row's failures may be diagnosed and made small. What a row leaves is for those after it.
  Clock::time_point next();

 private:
  const Clock::time_point end_;
  std::mutex mutex_;
  std::size_t rows_;  // that have not had their share
  const std::size_t lanes_;
};

// Of a row, whatever it leaves: for the search for a cause, and for making each failure small.
inline constexpr std::chrono::seconds kDiagnosisTime{10}, kShrinkTime{20};
// Of these, for whether other failures have other causes.
#ifdef ASSAY_SANITIZED
inline constexpr std::chrono::milliseconds kOtherCausesTime{30'000};
#else
inline constexpr std::chrono::milliseconds kOtherCausesTime{1500};
#endif
// Of all rows together where the run has no --time; else what that leaves, and at least a share of it.
inline constexpr std::chrono::seconds kRecordingTime{300};

}  // namespace assay

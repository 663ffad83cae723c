// How long a run may go on, and what its result says of its end.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "verify.h"

namespace assay {

class Stretch {
 public:
  // Both are borrowed.
  Stretch(const VerifyOptions& options, const std::atomic<bool>& interrupted)
      : options_(options), interrupted_(interrupted), start_(begin(options)) {}

  std::chrono::duration<double> elapsed() const { return Clock::now() - start_; }
  // Once it is over.
  std::string why_over() const;
  bool over() const { return interrupted_ || is_late({}); }
  // The same of the part of the time in which cases are begun. Where there are failures to record, the rest is for those.
  void note_fault() { faults_ = true; }
  bool cases_over() const;
  // When failures are no longer diagnosed, nor made small.
  std::chrono::steady_clock::time_point recording_end() const;

  // For lanes: when waiting for a kernel has lost its point. While cases run, soon after the end; while failures are
  // recorded, any one call after the end may take so long, and after an interrupt all of them together.
  bool ends_cases() const;
  bool ends_recording(std::chrono::steady_clock::duration waited) const;
  // For what the harness computes (a StopScope): an interrupt ends cases at once, and what is recorded soon.
  bool stops_cases() const;
  bool stops_recording() const;
  // When there is no time even for the files of failures.
  bool ends_files() const;

  // What every result has once its rows are there: their order, how complete it is, machine, options and time.
  void conclude(RunResult& result, const Progress& progress) const;

 private:
  using Clock = std::chrono::steady_clock;

  // Earlier, by the time that a run had taken which goes on now.
  static Clock::time_point begin(const VerifyOptions& options);

  // Whether the time was over so long ago.
  bool is_late(std::chrono::duration<double> ago) const {
    return options_.time && elapsed() > *options_.time + ago;
  }
  bool was_interrupted(Clock::duration ago) const;

  const VerifyOptions& options_;
  const std::atomic<bool>& interrupted_;
  Clock::time_point start_;
  std::atomic<bool> faults_{false};
  mutable std::atomic<Clock::rep> interrupted_at_{0};  // when it was first seen; 0: not yet
};

}  // namespace assay

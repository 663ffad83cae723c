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
  // A run has three parts: cases, the recording of failures, files. Of a part, `..._over` says that nothing new is begun, `stops_...` that
  // what the harness computes ends (for a StopScope), and `ends_...` that lanes wait no longer for kernels, or that no further file is written.
  //
  // Whether --time is over, or the run was interrupted; and which of the two it was.
  bool over() const { return interrupted_ || is_late({}); }
  std::string why_over() const;
  // Whether no further case is begun. After note_fault() it is earlier where failures are recorded: a fifth of --time, a minute at most, is left.
  void note_fault() { faults_ = true; }
  bool cases_over() const;
  // When failures are no longer diagnosed, nor made small.
  std::chrono::steady_clock::time_point recording_end() const;

  // While cases run: a second after --time, or 0.4 s after an interrupt. While failures are recorded: 0.6 s after an interrupt; or, once the
  // run is over or a StopScope has ended the work, for tasks that were posted more than a second ago (`waited`).
  bool ends_cases() const;
  bool ends_recording(std::chrono::steady_clock::duration waited) const;
  // Cases: at an interrupt, or a second after --time. Recording: 0.6 s after an interrupt, or two seconds after --time.
  bool stops_cases() const;
  bool stops_recording() const;
  // 0.9 s after an interrupt.
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

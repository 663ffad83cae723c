// How long a run may go on, and what its result says of its end.
#pragma once

#include <atomic>
#include <chrono>

#include "verify.h"

namespace assay {

class Stretch {
 public:
  // Both are borrowed.
  Stretch(const VerifyOptions& options, const std::atomic<bool>& interrupted)
      : options_(options), interrupted_(interrupted), start_(std::chrono::steady_clock::now()) {}

  bool over() const { return interrupted_ || (options_.time && elapsed() > *options_.time); }

  // What every result has once its rows are there: their order, how complete it is, machine, options and time.
  void conclude(RunResult& result, const Progress& progress) const;

 private:
  std::chrono::duration<double> elapsed() const { return std::chrono::steady_clock::now() - start_; }

  const VerifyOptions& options_;
  const std::atomic<bool>& interrupted_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace assay

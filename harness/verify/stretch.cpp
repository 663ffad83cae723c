#include "stretch.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "../registry/machine.h"
#include "allowance.h"
#include "reports/journal.h"
#include "vocabulary/stop.h"

namespace assay {

namespace {

constexpr std::chrono::milliseconds kGrace{1000};
// Of the two seconds after an interrupt in which everything is written, and the process gone: for what kernels still give, for what is
// recorded of failures, and for the last file that is begun.
constexpr std::chrono::milliseconds kKernelsFinish{400}, kRecordingFinishes{600}, kFilesFinish{900};
// Of --time, for the failures: a share, and at most so long. What was computed of one when it is over may come to its end.
constexpr double kShareOfFailures = 0.2;
constexpr std::chrono::seconds kMostForFailures{60}, kLastFailure{2};

}  // namespace

Stretch::Clock::time_point Stretch::begin(const VerifyOptions& options) {
  const std::chrono::duration<double> before(options.journal == nullptr ? 0 : options.journal->before());
  return Clock::now() - std::chrono::duration_cast<Clock::duration>(before);
}

bool Stretch::was_interrupted(Clock::duration ago) const {
  if (!interrupted_) return false;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep seen = 0;
  if (interrupted_at_.compare_exchange_strong(seen, now)) seen = now;
  return now - seen >= ago.count();
}

bool Stretch::cases_over() const {
  if (interrupted_ || !options_.time) return interrupted_;
  const bool records = faults_ && !options_.out.empty();
  return is_late(
      records ? -std::min<std::chrono::duration<double>>(*options_.time * kShareOfFailures, kMostForFailures)
              : std::chrono::duration<double>(0));
}

Stretch::Clock::time_point Stretch::recording_end() const {
  if (!options_.time) return Clock::now() + kRecordingTime;
  return start_ + std::chrono::duration_cast<Clock::duration>(*options_.time);
}

bool Stretch::ends_cases() const { return was_interrupted(kKernelsFinish) || is_late(kGrace); }

bool Stretch::ends_recording(Clock::duration waited) const {
  return was_interrupted(kRecordingFinishes) || ((over() || StopScope::over()) && waited > kGrace);
}

std::string Stretch::why_over() const { return interrupted_ ? "interrupted" : std::string(kOutOfTime); }

bool Stretch::stops_cases() const { return interrupted_ || is_late(kGrace); }

bool Stretch::stops_recording() const { return was_interrupted(kRecordingFinishes) || is_late(kLastFailure); }

bool Stretch::ends_files() const { return was_interrupted(kFilesFinish); }

void Stretch::conclude(RunResult& result, const Progress& progress) const {
  std::ranges::sort(result.rows, {}, [](const Row& r) { return std::tie(r.op, r.dtype, r.impl); });
  result.cases_not_run = progress.total - progress.done;
  // A short run leaves cases out as planned.
  result.complete = result.cases_not_run == 0 || (options_.is_short && !interrupted_);
  if (interrupted_ && faults_) result.complete = false;  // what was to be found out of them is not, perhaps
  if (!result.complete) result.incomplete = why_over();
  result.machine = machine();
  if (options_.shards > 1) result.shard = fmt::format("{}/{}", options_.shard, options_.shards);
  result.seconds = elapsed().count();
}

}  // namespace assay

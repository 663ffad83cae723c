#include "stretch.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "machine.h"

namespace assay {

namespace {

constexpr std::chrono::seconds kGrace{1};
constexpr std::chrono::seconds kAfterInterrupt{2};

}  // namespace

bool Stretch::was_interrupted(Clock::duration ago) const {
  if (!interrupted_) return false;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep seen = 0;
  if (interrupted_at_.compare_exchange_strong(seen, now)) seen = now;
  return now - seen >= ago.count();
}

bool Stretch::ends_cases() const { return was_interrupted(kGrace) || is_late(kGrace); }

bool Stretch::ends_recording(Clock::duration waited) const {
  return was_interrupted(kAfterInterrupt) || (over() && waited > kGrace);
}

void Stretch::conclude(RunResult& result, const Progress& progress) const {
  std::ranges::sort(result.rows, {}, [](const Row& r) { return std::tie(r.op, r.dtype, r.impl); });
  result.cases_not_run = progress.total - progress.done;
  // A short run leaves cases out as planned.
  result.complete = result.cases_not_run == 0 || (options_.is_short && !interrupted_);
  if (!result.complete) result.incomplete = interrupted_ ? "interrupted" : std::string(kOutOfTime);
  result.machine = machine();
  if (options_.shards > 1) result.shard = fmt::format("{}/{}", options_.shard, options_.shards);
  result.seconds = elapsed().count();
}

}  // namespace assay

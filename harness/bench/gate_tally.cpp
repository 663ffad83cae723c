#include "gate_tally.h"

#include "gate_outcome.h"

namespace assay {

void GateTally::add(const BenchRow& row) {
  failed += row.has_failed() ? 1 : 0;
  if (row.status == BenchStatus::measured) {
    ++timed;
    by_one_thread += row.threads == 1 ? 1 : 0;
    contended += row.threads == 1 && row.contention > kContended ? 1 : 0;
  }
  if (!row.gate) {
    ++without;
    return;
  }
  ++counts[row.gate->verdict];
  if (!row.gate->unseen.empty()) ++unseen[row.gate->unseen];
}

std::string GateTally::unfit() const {
  if (canary.alarms > 0) return "a kernel differs from itself";
  if (2 * contended > by_one_thread) return "others have its processors";
  if (timed > 0 && canary.trials == 0 && !interrupted)
    return "no kernel could be timed beside a copy of itself";
  return {};
}

GateTally::End GateTally::end() const {
  const auto count = [this](SpeedVerdict v) {
    const auto at = counts.find(v);
    return at == counts.end() ? 0 : at->second;
  };
  if (failed > 0) return End::fault;
  if (!unfit().empty()) return End::unfit;
  if (count(SpeedVerdict::regressed) > 0) return End::fault;
  if (interrupted) return End::interrupted;
  return timed == 0 && count(SpeedVerdict::unchanged) == 0 ? End::unfit : End::well;
}

}  // namespace assay

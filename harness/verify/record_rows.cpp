#include "record_rows.h"

#include <atomic>

#include "allowance.h"
#include "vocabulary/stop.h"

namespace assay {

std::vector<FailingRow> failing_rows(std::vector<Row>& rows, const std::map<RowKey, Tally>& tallies) {
  std::vector<FailingRow> failing;
  for (Row& row : rows) {
    if (row.failures.empty()) continue;
    for (const auto& [key, tally] : tallies)
      if (key.first->op->schema.name == row.op && key.first->name == row.impl &&
          name(key.second) == row.dtype) {
        failing.push_back({&row, key.first, tally.further()});
        break;
      }
  }
  return failing;
}

void record_rows(Examiners& examiners, std::size_t threads, std::span<FailingRow> rows,
                 const Recording& recording, const std::function<void(const Row&)>& begins) {
  const VerifyOptions& asked = recording.options;
  const Stretch& time = recording.stretch;
  RunOptions running = asked.run;
  running.give_up = [&time](auto waited) { return time.ends_recording(waited); };
  Allowance allowance(time.recording_end(), rows.size(), threads);
  std::atomic<std::size_t> next{0};
  examiners.run(threads, running, [&](Examiner& examiner) {
    const StopScope scope([&time] { return time.stops_recording(); });
    for (std::size_t i = next++; i < rows.size(); i = next++) {
      const FailingRow& failing = rows[i];
      begins(*failing.row);
      if (asked.journal != nullptr && take_failures(*asked.journal, *failing.row)) {
        allowance.next();
        continue;
      }
      record_row(examiner, *failing.kernel, *failing.row, failing.further, allowance.next(), recording);
      if (asked.journal != nullptr && !time.over() && !recording.interrupted)
        keep_failures(*asked.journal, time.elapsed().count(), *failing.row);
    }
  });
}

}  // namespace assay

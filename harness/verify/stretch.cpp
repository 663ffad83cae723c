#include "stretch.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "machine.h"

namespace assay {

void Stretch::conclude(RunResult& result, const Progress& progress) const {
  std::ranges::sort(result.rows, {}, [](const Row& r) { return std::tie(r.op, r.dtype, r.impl); });
  result.cases_not_run = progress.total - progress.done;
  result.complete = result.cases_not_run == 0;
  if (!result.complete)
    result.incomplete =
        fmt::format("{}: {} of {} cases were not run", interrupted_ ? "interrupted" : "out of time",
                    result.cases_not_run, progress.total);
  result.machine = machine();
  if (options_.shards > 1) result.shard = fmt::format("{}/{}", options_.shard, options_.shards);
  result.seconds = elapsed().count();
}

}  // namespace assay

// The calls of a run with --coverage, and the cases that are drawn after them towards code that none has run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../guided/covered_run.h"
#include "../guided/guided.h"

namespace assay {

class CoveredCalls {
 public:
  using RowKey = CoveredRun::RowKey;
  struct Call {
    Case c;
    std::uint64_t index;
    std::shared_ptr<RanCode> ran;
    bool judged;
  };
  struct Row {
    RowKey key;
    std::vector<Call> calls;
  };

  explicit CoveredCalls(std::span<const Kernel* const> kernels) : run_(kernels) {}

  const CoveredRun& run() const { return run_; }

  // Not thread-safe. `model`: of a row for which cases are to be drawn, and with right arguments.
  void note(const Finding& finding, const RowKey& row, const Case& c, std::uint64_t index, bool model);
  // The same of a case that draw() has handed over.
  void note_drawn(const Finding& finding, const RowKey& row) {
    run_.drew(row, finding.ran, was_judged(finding));
  }

  // All rows with models, once.
  std::vector<Row> take_rows();
  // run_guided() for one of them. The order in which its calls came is no matter. May run on several threads, for other rows.
  static void draw(Examiner& examiner, Row row, std::uint64_t seed, std::uint64_t most,
                   const std::function<bool()>& over,
                   const std::function<void(const Finding&, const Case&, std::uint64_t index)>& ran);

 private:
  CoveredRun run_;
  std::map<RowKey, std::vector<Call>> calls_;
};

}  // namespace assay

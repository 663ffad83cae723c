// The failures of a whole run: what becomes of each row's (record_row.h), on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "../examine/examiners.h"
#include "kept_cases.h"
#include "record_row.h"
#include "tally.h"

namespace assay {

struct FailingRow {
  Row* row = nullptr;
  const Kernel* kernel = nullptr;
  std::vector<Failure> further;  // that the row does not keep
};

// Those of `rows` that have failures, with the kernels that they are of.
std::vector<FailingRow> failing_rows(std::vector<Row>& rows, const std::map<RowKey, Tally>& tallies);

// Records them, or takes from the run's journal what was recorded before; what takes longer than the run's time for it is left.
// `begins` is called before each row, by several threads.
void record_rows(Examiners& examiners, std::size_t threads, std::span<FailingRow> rows,
                 const Recording& recording, const std::function<void(const Row&)>& begins);

}  // namespace assay

// Cases that a run has judged, as its journal keeps them (reports/journal.h): chunk by chunk, each of which adds to rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/journal.h"
#include "tally.h"
#include "verify.h"

namespace assay {

using RowKey = std::pair<const Kernel*, Dtype>;

// Whose rows they are; null: of none such.
const Kernel* kernel_in(const std::map<RowKey, Tally>& rows, std::string_view op, const std::string& impl);

// The rows of a run by now.
std::vector<Row> rows_of(const std::map<RowKey, Tally>& rows, const VerifyOptions& options);

struct SeenCase {
  std::uint64_t index;  // of a generated case
  bool refused;
};

// What a chunk adds to a row.
struct KeptPart {
  Tally tally;
  std::vector<SeenCase> seen = {};
};
using KeptParts = std::map<RowKey, KeptPart>;

// Of results of one dtype, for ExamineOptions::row.
inline std::uint64_t row_of(Dtype dtype) { return static_cast<std::uint64_t>(dtype) + 1; }
// Adds what else has come out: faults of kernels that ran before, whichever row is theirs. `index` is that of the case that showed it.
void add_blamed(Examiner& examiner, std::uint64_t index, KeptParts& parts);

// `at`: seconds since the run began. `cases`: how many were judged by all of their kernels.
void keep(Journal& journal, const std::string& key, double at, const KeptParts& parts, std::uint64_t cases);
// The same, read back, of the rows that the run has.
KeptParts kept(const JournalEntry& entry, const std::map<RowKey, Tally>& rows);
std::uint64_t kept_count(const JournalEntry& entry);

// Failures of a row, with their case files.
void keep_failures(Journal& journal, double at, const Row& row);
// Takes them over where all of the files are there; false if they are not.
bool take_failures(const Journal& journal, Row& row);

}  // namespace assay

// Joins the run files of one run's shards.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "result.h"

namespace assay {

inline constexpr std::uint64_t kMostShards = 1'000'000;  // of a run

struct Shard {
  std::string name;  // of its file, for messages
  RunResult run;
};

struct Merged {
  RunResult run;
  std::string missing;                // "shard 2/3 is missing", or empty
  std::vector<std::string> warnings;  // in plain words: shards that are missing, machines that differ
};

struct MergeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Rows of one operator, kernel and dtype as one, sorted; merge() says how.
std::vector<Row> summed(std::vector<Row> rows);

// Sums the counts, takes the most severe verdict of each row, and orders failures by case. A single run comes
// back as it is. Missing shards make the result incomplete and are warnings. Throws MergeError for what does
// not belong together: other seeds, other commands (--shard, --jobs and where results go aside), one shard
// twice, runs that are no shards, or shards of more than a million.
Merged merge(std::vector<Shard> shards);

}  // namespace assay

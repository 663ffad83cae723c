// History files, format "assay.history/1": how a kernel's speed went from commit to commit, and where it changed.
//
//   {"format", "series": [{"op", "case", "impl", "cache", "threads", "machine", "measure",
//     "points": [{"commit", "time", "ns", "ratio", "peer", "share"}], "changes": [{"index", "before", "after"}]}]}
//
//   time     seconds since 1970
//   measure  what changes are looked for in: "ratio", "share" or "ns"
//   ratio    time of the kernel / time of what it is compared with, the `peer`; share: of the limit, 0 to 1
//   changes  points from which on the level is another one
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct HistoryPoint {
  std::string commit;
  double time = 0, ratio = 0, share = 0;
};

struct HistoryChange {
  std::size_t index = 0;  // of the first point after it
  double before = 0, after = 0;
};

struct HistorySeries {
  std::string op, case_text, impl, cache, machine;
  std::uint64_t threads = 1;
  std::vector<HistoryPoint> points;
  std::vector<HistoryChange> changes;
};

struct HistoryFile {
  std::string name;
  std::vector<HistorySeries> series;
};

// Throws FileError that names the file and the key that is wrong.
HistoryFile history_from_json(std::string_view text, const std::string& name);

}  // namespace assay

// How fast kernels were, commit after commit: one SQLite file that only grows.
//
//   runs(id, commit_id, time, machine, source)      one for each file that was added; time in seconds since 1970
//   points(run, op, case_text, impl, cache, threads, ns, ratio, peer, share)
//       ratio   time over that of the best peer in the same run, and which peer that was, or NULL
//       share   of the limit, from 0 to 1, or NULL
//
// Nanoseconds of two runs say little about a kernel: machines have good and bad hours. What is compared between runs are ratios of
// what was measured within one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "change_points.h"
#include "result_file.h"

struct sqlite3;

namespace assay {

struct HistoryEntry {
  std::string commit;
  std::int64_t time = 0;
  double ns = 0;
  std::optional<double> ratio;
  std::string peer;
  std::optional<double> share;
};

struct KernelHistory {
  std::string op;
  std::string case_text;
  std::string impl;
  std::string cache;
  int threads = 1;
  std::string machine;
  std::vector<HistoryEntry> entries;  // by time
  // What the changes are of: "ratio", where every entry has one beside the same peer, else "share", else "ns".
  std::string measure;
  std::vector<double> values;        // of the entries
  std::vector<ChangePoint> changes;  // of values; by 2% and more, relative
};

class HistoryStore {
 public:
  // Creates the file, or writes into an empty one, only if `create` says so. Throws FileError that names it, too, for a database
  // that has other tables than an Assay made.
  HistoryStore(const std::string& path, bool create);
  ~HistoryStore();
  HistoryStore(const HistoryStore&) = delete;
  HistoryStore& operator=(const HistoryStore&) = delete;

  // All of a file's rows, or none. The same run of the same commit is not added twice, whatever its file is called: then it returns
  // 0. It is the same if the date and all times are.
  std::size_t add(const ResultFile& file, const std::string& commit, std::int64_t time);

  // Those of operators and kernels that the globs select (empty: all), in order of their names.
  std::vector<KernelHistory> histories(const std::vector<std::string>& operators,
                                       const std::vector<std::string>& impls) const;

 private:
  bool holds(const ResultFile& file, const std::string& commit) const;
  void run(const char* sql);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  sqlite3* database_ = nullptr;
};

}  // namespace assay

// What `assay verify --check` adds: kernels of the CUDA emulation run in a library that looks at each access to memory, and
// how many pieces of memory their warps touched is counted for each line of their sources.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/counted_line.h"
#include "vocabulary/access_counts.h"

namespace assay {

// A file for the counts, in the folder for temporary files, which ends with this.
class AccessFile {
 public:
  // Throws std::runtime_error if there is none to be had.
  AccessFile();
  ~AccessFile();
  AccessFile(const AccessFile&) = delete;
  AccessFile& operator=(const AccessFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::vector<AccessCounts> counts() const;

 private:
  std::filesystem::path path_;
};

// The lines that the counts belong to, by the debug information of `library`; most wasteful first.
std::vector<CountedLine> counted_lines(const std::vector<AccessCounts>& counts, const std::string& library);

// For people.
std::string access_table(const std::vector<CountedLine>& lines);

}  // namespace assay

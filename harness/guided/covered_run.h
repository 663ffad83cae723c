// What a run with --coverage knows of its kernels' code: what ran, in which rows, and what to try next.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../coverage/ran_code.h"
#include "../registry/registry.h"
#include "code_map.h"
#include "reports/code_coverage.h"

namespace assay {

// What to build a plugin with.
inline constexpr const char* kHowToInstrument =
    "compile and link it with `clang -g -fsanitize-coverage=trace-pc-guard,pc-table,trace-cmp` or "
    "`gcc -g -fsanitize-coverage=trace-pc,trace-cmp`";

class CoveredRun {
 public:
  using RowKey = std::pair<const Kernel*, Dtype>;

  // Asks a process of each environment for its blocks.
  explicit CoveredRun(std::span<const Kernel* const> kernels);

  // Whether anything can be known of the kernel's code.
  bool covers(const Kernel& kernel) const { return library_of(kernel).map.blocks() > 0; }

  // Of a call that a worker has recorded, null if none has: `judged`: its results were. Not thread-safe.
  void saw(const RowKey& row, const std::shared_ptr<RanCode>& ran, bool judged);
  // The same of one that a Guide has asked for.
  void drew(const RowKey& row, const std::shared_ptr<RanCode>& ran, bool judged);

  // Nothing where the run had no process for the kernel.
  std::optional<CodeCoverage> of_row(const RowKey& row) const;
  std::vector<LibraryCoverage> libraries() const;

 private:
  struct Library {
    std::string name;    // of the file, or "assay"
    std::string reason;  // why it has no blocks
    CodeMap map;
    std::vector<Ran> ran{};
  };
  struct RowState {
    std::vector<Ran> ran{};
    std::uint64_t drawn = 0, reached = 0;
    bool cut = false;
  };
  using Key = std::pair<std::string, std::vector<std::string>>;  // program and arguments

  static Key key_of(const Kernel& kernel) {
    return {kernel.environment.program, kernel.environment.arguments};
  }
  static Library read_library(const Key& key);
  const Library& library_of(const Kernel& kernel) const { return libraries_.at(key_of(kernel)); }

  std::map<Key, Library> libraries_;
  std::map<RowKey, RowState> rows_;
};

}  // namespace assay

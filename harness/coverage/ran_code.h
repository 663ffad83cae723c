// Which code of a kernel a call ran, as the harness reads it from what its worker wrote down.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "log.h"

namespace assay {

struct RanCode {
  std::vector<std::uint32_t> blocks;  // numbers, each once, in order
  std::vector<ComparedValues>
      comparisons;   // of each place, at most the first that were less, equal and greater
  bool cut = false;  // there was no room for all of it
};

// Adds what the log has of the entry; nothing where no worker has recorded. A kernel may have written anything there.
void add_ran_code(const CoverageLog& log, std::uint32_t entry, std::shared_ptr<RanCode>& ran);

}  // namespace assay

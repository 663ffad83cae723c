// The worker's side of --coverage: what compilers call from code that was built with -fsanitize-coverage, and what it leaves in
// the memory that the worker shares with the harness.
//
// Kernels built so call functions named __sanitizer_cov_*, which runtime.cpp defines and the program exports. Without
// kCoverageVariable they return at once. With it the zygote numbers the blocks of all libraries that it has loaded, and each worker
// writes down for each entry of a batch which blocks ran, and which numbers were compared with which.
//
// Builds with sanitizers bring functions of these names along: there nothing can be recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "log.h"

namespace assay {

// Set in workers' processes by `assay verify --coverage`.
inline constexpr const char* kCoverageVariable = "ASSAY_COVERAGE";

// Whether this build defines what instrumented code calls.
bool can_record_coverage();

// A library of this process that was built so.
struct CoveredModule {
  struct Block {
    std::uint64_t address =
        0;  // in the file: where the block begins, or, of `by_calls`, after the call with which it begins
    bool entry = false;  // of a function; known only where the library has a table
  };
  std::string path;
  bool by_calls =
      false;  // the library has no table of its blocks (pc-table): they are where its code calls us
  std::vector<Block> blocks;
};

// To be called in the process that will fork workers: before libraries are loaded, and after. What is loaded later is not recorded.
void begin_coverage();
void find_covered_modules();
// Blocks are numbered from 0 on through all modules.
const std::vector<CoveredModule>& covered_modules();

// In a worker. Null: nothing is recorded.
void record_coverage(CoverageLog* log);
// Of the batch's i-th entry. Those before it have ended.
void begin_covered_entry(std::uint32_t i);
void end_covered_entry(std::uint32_t i);

}  // namespace assay

// Kernels that are wrong in calls of one kind alone (generate/paths.h): a fast path that gives zeros, that leaves what the call before
// gave, or that leaves an element unwritten.
//
// All of one fault do the same where they are wrong, so one kernel runs for all: a path is found if a case that takes it is at
// fault there.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../generate/paths.h"
#include "../variants/stateful.h"
#include "trial.h"

namespace assay {

// What is wrong with a fast path.
struct PathFault {
  std::string_view prefix;  // of the variant's name
  std::string_view kernel;  // in the table of variants
  std::string_view says;
};
inline constexpr std::array kPathFaults{
    PathFault{"paths.", kZeros, "gives zeros"},
    PathFault{"stale_paths.", kStale, "leaves what it gave for the call before"},
    PathFault{"unwritten_paths.", kUnwritten, "leaves its last element unwritten"},
};

// "paths.stride 1,1 groups 1", of those that some call with results of this dtype takes.
std::string path_variant(const PathFault& fault, const Path& path);

class PathTrial {
 public:
  // What it is given must outlive it.
  PathTrial(const Subject& subject, const std::string& program, const SelftestOptions& options);

  // The cases of a run, until every path was found.
  void run(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted);

  std::vector<Planted> planted() const;

 private:
  struct Suspect {
    Path path;
    std::size_t fault;  // of kPathFaults
    Planted planted;
  };

  void examine(Examiner& examiner, const std::vector<Case>& cases);
  bool is_open(const Suspect& s) const;

  const Subject& subject_;
  const SelftestOptions& options_;
  std::array<Kernel, kPathFaults.size()> kernels_;
  std::vector<Suspect> suspects_;
};

}  // namespace assay

// The short run: which part of the thorough one it is. It goes in rounds over all operators and dtypes, each of as many cases in the
// order of covering_order(), as long as a budget of time lasts, and leaves out the kernels that take most of the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "../generate/errors.h"
#include "../model/kernel.h"

namespace assay {

inline constexpr std::uint64_t kRound =
    kCasesForAnError;  // cases, and one beside them whose arguments are wrong
// Run whatever the budget says: within their cases each class of case occurs that the thorough run has for the operator and dtype.
inline constexpr std::uint64_t kLeastRounds = 3;
// Rounds that peers take part in unless --impl names them: some are slow.
inline constexpr std::uint64_t kPeerRounds = kLeastRounds;

// Two minutes for all operators and dtypes, less for few.
// Two minutes at most also where a library has many kernels of one operator: each four of them get as much as one operator.
std::chrono::duration<double> budget_for(std::size_t operators_and_dtypes, std::size_t plugin_kernels = 0);

// Whether the short run does without the kernel: a CUDA kernel on the processor, which takes up to fifty times as long as
// another, unless a glob of --impl names it.
bool is_left_out(const Kernel& kernel, const std::vector<std::string>& globs);
// Whether it runs in the first rounds alone: a peer, unless a glob names it.
bool is_sampled(const Kernel& kernel, const std::vector<std::string>& globs);

// Whether there is time for another round.
class Budget {
 public:
  using Seconds = std::chrono::duration<double>;
  explicit Budget(Seconds budget) : budget_(budget) {}

  // Asked once for each round in the order in which they begin, at this time after the first. A round begins if the budget has room
  // for one that takes as long as the one before, so that it need not be broken off and all have had the same number of cases. The
  // first always does: a shard's may have any number.
  bool begins(std::uint64_t round, Seconds elapsed);

 private:
  Seconds budget_;
  Seconds last_{0};  // when the last round began
  bool first_ = true;
};

}  // namespace assay

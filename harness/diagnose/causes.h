// Which faults explain what a kernel gave.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evidence.h"
#include "prediction.h"
#include "whole.h"

namespace assay::diagnose {

// A fault, and how it fits. It is one that explains everything if it admits every element that was tried, those that
// diverge and those that do not, and then all others.
struct Cause {
  Hypothesis hypothesis;
  std::size_t explained = 0;       // elements that diverge, and are as it says
  std::size_t broken = 0;          // elements that do not diverge, and are not as it says
  std::size_t discriminating = 0;  // elements for which it admits nothing that the reference admits
  std::size_t matched =
      0;  // of these, those that are as it says; none of the others is as the reference says
  double width =
      0;  // mean of log2 of its intervals' relative width where elements diverge: the less, the more it says
  bool explains_all = false;     // of those that were tried
  std::optional<Whole> whole{};  // of all elements, where it explains all that were tried, and time sufficed
  // Whether it is true of all that is known.
  bool is_confirmed() const { return explains_all && whole && whole->holds(); }
};

struct Causes {
  std::vector<Cause> causes;  // those that explain all, best first; or else those that explain most
  std::vector<Cause>
      same;  // explain all, and say no less than the first; on this data nobody can tell them apart
  std::vector<Cause> weaker;                   // explain all, but admit much more than the first
  std::vector<std::string> untestable;         // names: on this data they would give what the reference gives
  std::vector<std::string> testable;           // the others
  std::size_t tried = 0, tried_diverging = 0;  // elements
  std::size_t tested = 0;                      // single faults that change something in this call
  std::size_t pairs = 0;                       // pairs of faults
  bool complete = true;                        // false: time ran out before all of them were tried
  bool without_numbers =
      false;  // every result is NaN or infinite, which tells no cause from another: none was tried
};

// For how long causes are tried: single ones, and then pairs, which are tried if no single one explains all. After somebody has
// interrupted, or where a StopScope ends the work, none is.
struct Patience {
  std::chrono::milliseconds singles{60'000};
  std::chrono::milliseconds pairs{10'000};
  const std::atomic<bool>* interrupted = nullptr;
};

// Faults of a part of the results alone, made of faults of all.
using InPart = std::function<std::span<const Variant>(std::span<const Variant* const>)>;

// The calls are of one operator, one dtype of results and one kernel, and one cause must explain all of them. Causes are tried in stages; the
// search ends after a stage in which one explains everything:
//   1. `suspects`, each alone; if what explains everything cannot be told from the reference on this data, the next stage is tried all the same
//   2. `further`, each alone
//   3. what `guessed` reads off the results
//   4. what `in_part` makes of causes that explain all elements which diverge, and contradict some that do not
//   5. pairs of `suspects`, unless `known_otherwise` says that the results are known to be something else, or too few elements diverge
// The suspects must outlive the result.
Causes find_causes(std::span<Evidence* const> calls, const std::vector<Variant>& suspects,
                   const std::vector<Variant>& further,
                   const std::function<std::span<const Variant>()>& guessed, const InPart& in_part,
                   const std::function<bool()>& known_otherwise, const Patience& patience);

}  // namespace assay::diagnose

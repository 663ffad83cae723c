// Kernels that are wrong because of what was called before, or of how often: what `assay selftest` plants of state.
//
// Each is a right kernel, one of ours, with a memory between calls. They run at its speed, so that they are called as often as real
// kernels are.
#pragma once

#include <assay/kernel.h>

#include <span>
#include <string_view>
#include <vector>

#include "vocabulary/operator.h"

namespace assay {

struct StatefulKind {
  std::string_view name;  // "state.cached_by_address"
  std::string_view says;
  bool of_inputs = false;  // it concerns operators that have a tensor among their arguments
};
std::span<const StatefulKind> stateful_kinds();

// Kernels for faults of paths, which are wrong in every call:
// - what the call before gave, with other arguments, instead of a result of this one: `stale`
// - the right results, but for the last element of each, which stays unwritten: `unwritten`
inline constexpr std::string_view kStale = "stale";
inline constexpr std::string_view kUnwritten = "unwritten";

// Whether there is a right kernel to make them of, which runs on this machine.
bool has_stateful(const Operator& op);
// All of these of the operator, for the table of a worker. They live as long as the process.
std::vector<assay_kernel> stateful_kernels(const Operator& op);

}  // namespace assay

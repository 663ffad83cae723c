// Which field of a contract would admit results that diverge: a function that is less accurate than was promised.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evidence.h"

namespace assay::diagnose {

struct Admitting {
  std::string clause;  // "tanh=2ulp": the least power of two that admits every element that was looked at
  std::string what;    // "tanh"
  double least = 0;    // 2
  std::vector<std::string> or_else{};  // other fields that do the same: "div=16"
  std::size_t looked_at = 0;           // elements that diverge, and were held against it
  bool likely =
      false;  // they are many, and err as those of such a function do: not a few far, and all others hardly
};

// Nothing where no field does, up to kMostUlp; where other elements refute it, none is named. It takes the more time, the more elements
// diverge: a StopScope ends it.
inline constexpr double kMostUlp = 4096;
std::optional<Admitting> admitting(std::span<Evidence* const> calls);

}  // namespace assay::diagnose

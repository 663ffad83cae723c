// What arithmetic in fewer bits is worth as a cause. Its bound admits nearly anything, so that it must foretell more than that: how
// many elements are wrong, how far they are off, and which of them farther than others.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tried.h"

namespace assay::diagnose {

// Elements that are right and would not be, if they are too many; of all elements, of which those that are tried are
// samples.
std::size_t too_accurate(std::span<Evidence* const> calls, const Elements& elements, Predictions& p);

// Whether results are too far off for it; are no numbers of the format that it gives, or that it computes in; or have errors that have nothing to do with
// those that such arithmetic makes in any common order of sums. Where nothing is foretold of it: whether its bound would admit results
// of other elements as well, or they are those of an approximation.
bool is_no_such_arithmetic(const Hypothesis& hypothesis, std::span<Evidence* const> calls,
                           const Elements& elements, Predictions& p);

// Whether results of other elements would do as well, which says that the cause admits anything.
bool admits_others(const Elements& elements, Predictions& p);

// For results that are off by a relative error of any size up to one that they all keep to, as those of fast reciprocals and roots
// are: how many bits are right. Nothing where they are numbers of fewer bits, as rounding gives, or where some are far worse.
std::optional<int> bits_of_approximation(std::span<Evidence* const> calls);

}  // namespace assay::diagnose

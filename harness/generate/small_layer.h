// Calls of networks made small enough to be judged: their sizes halved, and what kernels know them by kept.
#pragma once

#include <cstdint>
#include <map>

#include "draw.h"
#include "shapes.h"
#include "vocabulary/case.h"

namespace assay {

// A call with what its shape rule makes of it.
struct Layer {
  const Case& c;
  const ShapeAlternative& alternative;
  ShapeBinding binding;
};

// What a size of the binding must not fall below; of others that is 1.
using Least = std::map<const std::int64_t*, std::int64_t>;
Least least_sizes(const Layer& layer, ShapeBinding& binding);

// Halves sizes until all fits: the largest one again and again, or with `draw` any of them. Half of the time one size that was drawn
// stays as it is as long as there are others: kernels know the 768 of a network's rows, and not its half. Three of four times sizes
// that are multiples stay so. False where that is impossible.
bool make_small(Draw* draw, const Layer& layer, ShapeBinding& binding, const SizeBudget& budget);

// Makes sizes odd, by one more, or one less where more is beyond the budget, but for those that are as small as they may be. Networks
// have multiples of 8 nearly everywhere: of their large calls nothing is left over for a last vector, block or thread.
void make_odd(const Layer& layer, ShapeBinding& binding, const SizeBudget& budget);

}  // namespace assay

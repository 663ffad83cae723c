// Cases with factors of one's choice: K from 1024 on, a permuted weight, stride 2, data with NaN.
#pragma once

#include <optional>

#include "draw.h"
#include "factors.h"
#include "shapes.h"
#include "vocabulary/case.h"

namespace assay {

// Sizes of the classes that are wished for, as far as the budget holds them, and others drawn as draw_binding() draws them.
// nullopt if the sizes that are wished for are beyond the budget.
std::optional<ShapeBinding> draw_wished_binding(Draw& draw, const ShapeAlternative& alternative,
                                                const Factors& wish, const SizeBudget& budget);

// Whether the least sizes of the classes that are wished for are within the budget.
bool may_fit(const ShapeAlternative& alternative, const Factors& wish, const SizeBudget& budget);

// A case for results of this dtype that has the factors of `wish` as far as that can be; the others are drawn. nullopt where the
// sizes do not fit, or the argument check refuses what was drawn.
std::optional<Case> wished_case(Draw& draw, const Operator& op, Dtype dtype,
                                const ShapeAlternative& alternative, const Factors& wish,
                                const SizeBudget& budget);

}  // namespace assay

// Results that were computed from memory beside the elements of a tensor.
#pragma once

#include "../run/lane.h"
#include "judge.h"

namespace assay {

// Of a call that was judged to be at fault for its results: looks whether they were computed from what lies beside the elements of a
// tensor, and if so says which in the judgement, as a fault of memory. The call runs again with finite numbers in place of
// poison beside one tensor at a time (of an output: everywhere), and what then changes was computed from what was there.
void blame_surroundings(Lane& lane, const Kernel& kernel, const Call& call, const Outcome& outcome,
                        Judgement& judgement);

}  // namespace assay

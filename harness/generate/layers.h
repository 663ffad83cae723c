// Calls as people make them: those of networks, made small enough to be judged, and their neighbours.
//
// Attributes that are drawn one by one hardly ever meet as they do in networks: of 555 convolutions of two dimensions none had
// a window of 3x3, stride 1, dilation 1 and one group. The lists of cases/shapes and cases/layers say what does meet; they are
// part of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "draw.h"
#include "vocabulary/case.h"

namespace assay {

// The calls of `op` in these lists, as they stand there: of any size, mostly in f32. Empty for an operator without one.
std::span<const Case> layers_of(const Operator& op);

// The number-th call of a run: each layer by turns, with results of this dtype. The first time it is the layer itself, later
// mostly a neighbour: one attribute, size, layout or optional tensor is another. A window, its stride, padding, dilation and
// whether channels are in groups stay as they are; other sizes are halved until the call is small. One in five is large: of up
// to half a million elements in a tensor or 8 million multiply-adds, its sizes halved evenly.
// nullopt where the dtype does not go together with the layer, or there is none.
std::optional<Case> draw_layer(Draw& draw, const Operator& op, Dtype result_dtype, std::uint64_t number);

}  // namespace assay

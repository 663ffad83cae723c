// Calls as people make them: those of networks, made small enough to be judged, and their neighbours.
//
// Attributes that are drawn one by one hardly ever meet as they do in networks: of 555 convolutions of two dimensions none had
// a window of 3x3, stride 1, dilation 1 and one group. The lists of cases/shapes and cases/layers say what does meet; they are
// part of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "draw.h"
#include "vocabulary/case.h"

namespace assay {

// The calls of `op` in these lists, as they stand there: of any size, mostly in f32. Empty for an operator without one.
std::span<const Case> layers_of(const Operator& op);

// The number-th call of a run: each layer by turns, with results of this dtype. The first time it is the layer itself, later
// mostly a neighbour: one attribute, size, layout or optional tensor is another. A window, its stride, padding, dilation and
// whether channels are in groups stay as they are; other sizes are halved until the call is small. One in five is large, or one in
// three or four where there are 8 to 11 layers: of up to half a million elements in a tensor or 8 million multiply-adds, its sizes halved evenly, or so that its result stays large.
// Runs of other `start` begin with another layer, and have others that are large.
// nullopt where the dtype does not go together with the layer, or there is none.
std::optional<Case> draw_layer(Draw& draw, const Operator& op, Dtype result_dtype, std::uint64_t number,
                               std::uint64_t start = 0);

// Whether the case is as small as a layer that is not one of the large ones.
bool is_small(const Case& c);

// The case with one thing changed: a size, an attribute, an optional tensor or a layout. None where eight tries gave nothing
// that is allowed and small.
std::optional<Case> neighbour_of(Draw& draw, const Case& c, Dtype result_dtype);

// The sizes that its shape rule gives a case, and the case with another one for the which-th of them: others are halved until it is no
// larger than a layer that is of middle size; if that is impossible, a large one. None where that is not allowed.
std::vector<std::int64_t> sizes_in(const Case& c);
std::optional<Case> with_size(const Case& c, Dtype result_dtype, std::size_t which, std::int64_t size);

}  // namespace assay

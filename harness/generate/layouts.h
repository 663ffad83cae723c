// Memory layouts of generated tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "draw.h"
#include "vocabulary/case.h"

namespace assay {

// A layout other than contiguous, of any kind that fits the shape. Expanded ones (stride 0) only for inputs, since two
// results cannot share memory.
Layout draw_layout(Draw& draw, const Shape& shape, bool may_expand);

// The layouts of the results. A case's text says nothing about its results, so they follow from the rest of the case:
// that which a memory format asks for, half of the time, or else contiguous, or that of an input with the same shape, or another one, as the seed says; with seed 0 contiguous.
// Never expanded.
std::vector<Layout> output_layouts(const Case& c, std::span<const Shape> outputs);
std::vector<Layout> output_layouts(const Case& c);

// Whether no two elements share memory.
bool without_overlap(const Shape& shape, const Layout& layout);

// The layout for the shape without dimension `dropped`.
Layout without_dimension(const Layout& layout, std::int64_t dropped, std::size_t new_rank);

}  // namespace assay

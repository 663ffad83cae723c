// Data of masked attention: lines of a reduction that begin with -inf, end with it, or have whole blocks of it.
//
// A softmax that goes through its line once starts from a maximum of -inf. Where the first element, the first vector or the first block
// is -inf too, it computes exp(-inf - -inf), which is NaN, unless somebody thought of it; and the right result is an ordinary number.
// Maxima, their places and sums have such beginnings, too.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "families.h"
#include "vocabulary/case.h"

namespace assay {

// The dimensions along which the call reduces the tensor at this place among its arguments, as its arguments of axes say: all where
// they name none. For other operators the last two where windows move over them, else the last one. Ascending.
std::vector<std::size_t> reduced_axes(const Case& c, std::size_t argument);

// Whether the operator reduces along axes or over windows, so that masks are something of their own to it.
bool has_lines(const Operator& op);

// Normal numbers under masks. The lines along target.axes take the kinds of masks by turns, from a random one on: the first 1, 2, 4,
// ... 256 elements; a random number of them; all but the last one; the last ones, as in a causal mask; one block of 64 in the
// middle; none. One line of a tensor of several is nothing but masked. What stands there is -inf in three of four lines of a kind, and
// in one of each two that follow each other; else the least finite number, inf or NaN.
void fill_masked(const Target& target, std::span<double> values);

// Whether lines of each kind have -inf in a tensor of this shape, whatever the seed, and are long enough for the longest mask.
// The ladder (cases.h) has such tensors.
bool has_each_mask(std::span<const std::int64_t> shape, std::span<const std::size_t> axes);

}  // namespace assay

// The edge family: values at which formats and formulas change.
#pragma once

#include <span>
#include <vector>

#include "families.h"

namespace assay {

// The values of one kind. The first list holds zeros, the others NaN, infinities, subnormals, the largest numbers, the
// smallest normal ones, the operator's kinks with their neighbours, and ones with theirs. Lists that the dtype has no
// numbers for are empty.
struct EdgeValues {
  std::vector<double> zeros, nans, infinities, subnormals, largest, smallest, kinks, ones;
};
EdgeValues edge_values(Dtype dtype, std::string_view kinks);

void fill_edge(const Target& target, std::span<double> values);

// The neighbours of a number of the format.
double next_above(double x, const Format& f);
double next_below(double x, const Format& f);

}  // namespace assay

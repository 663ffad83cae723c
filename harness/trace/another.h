// Whose numbers stand where the result of a call belongs: that of another call, if memory was used again too early, or the wrong
// tensor was written down.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dump.h"
#include "known.h"

namespace assay {

// Whether it has a few different numbers at most, as zeros have: many tensors do.
bool says_little(const TensorData& t);
// The largest finite magnitude.
double largest_of(const TensorData& t);
// How far from a number of such a tensor another one may be that is nearly it.
double nearly_of(double number, double scale);
// Whether a number is nearly y, one of a tensor whose largest is `scale`, or within `by` of it.
bool is_nearly(double x, double y, double scale, double by);

// Whether nearly all numbers are nearly the same, beside what `a` is known within (or to the bit, if that is empty). Precondition: as
// many elements.
bool are_alike(const TensorData& a, const TensorData& b, const std::vector<double>& within = {});

// By call, whether its results follow from this one's: they cannot have been given to it.
std::vector<bool> following_from(const CaseFile& trace, std::size_t call);

// The nearest call whose result `came` is, which should be the one of this name: all of it, as the dump has it, or nearly so as it
// was recorded. Nothing if it says little, such as zeros, or if `right`, what belongs there, is like that result as well.
std::optional<std::string> of_another_call(const CaseFile& trace, Dump& dump, std::size_t call,
                                           const std::string& name, const KnownResult& came,
                                           const TensorData& right);

}  // namespace assay

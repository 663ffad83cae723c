// Covering arrays: cases in which every value of each factor (factors.h) meets every value of each other, and then every two others.
#pragma once

#include <cstdint>

#include "vocabulary/case.h"

namespace assay {

// Cases of one array: those of a run of the usual length (kUsualRun) are of the first.
inline constexpr std::uint64_t kCoveringBlock = 192;

// Case `number` of the arrays, one after the other. Each case has two values that had not met in its array, and of the other factors
// values that are new beside these, of those with as many pairs the one with most new triples, chosen greedily (Cohen, Dalal, Fredman
// and Patton, "The AETG system", 1997), as far as the sizes together stay within what can be judged; the rest is drawn. When no pair is
// left, a case is made for three values that had not met, and the others are chosen by triples. The first array leaves out what the other
// cases of a run of the usual length bring together.
//
// Of all pairs of values, of which some cannot be, such a run has in f32 at least 95% for mm, 92% for sum, 90% for softmax, 74% for
// add, 70% for max_pool2d and 61% for convolution, whose attributes are many; of all triples 58%, 66%, 70%, 26%, 26% and 21%. A run
// of more cases has more: arrays after the first hold one value, another in each, in every second case.
//
// A pure function of its arguments. The array that holds the number is made when it is first asked for, and kept. Thread-safe.
Case covering_case(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t number);

}  // namespace assay

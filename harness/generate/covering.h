// Covering arrays: cases in which every value of each factor (factors.h) meets every value of each other.
#pragma once

#include <cstdint>

#include "vocabulary/case.h"

namespace assay {

// Cases of one array. Of most operators they bring nearly all pairs together that can be; of convolutions, with two alternatives of the
// shape rule and many attributes, about three of four.
inline constexpr std::uint64_t kCoveringBlock = 96;

// Case `number` of the arrays, one after the other. Each case has two values that had not met in its array, and of the other factors
// values that are new beside these, chosen greedily (Cohen, Dalal, Fredman and Patton, "The AETG system", 1997), as far as the
// sizes together stay within what can be judged; the rest is drawn. Arrays after the first hold one value, another in each, in every second
// case, so that a long run brings triples together.
// A pure function of its arguments. The array that holds the number is made when it is first asked for, and kept. Thread-safe.
Case covering_case(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t number);

}  // namespace assay

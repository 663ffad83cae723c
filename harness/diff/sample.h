// Elements that stand for all of a tensor where a rule is looked for: those of a set, and others.
#pragma once

#include <cstdint>
#include <vector>

#include "compare.h"

namespace assay::diff {

// Which of the sample's elements a condition holds for.
using Bits = std::vector<std::uint64_t>;

struct Sample {
  std::vector<std::uint64_t> elements;  // row-major numbers, ascending
  Bits in_set;
  double weight_in = 1, weight_out = 1;  // elements that one of the sample stands for
  bool all = true;                       // the sample is the whole tensor

  std::size_t size() const { return elements.size(); }
};

// All elements up to `most`; of more, about half as many from either side, spread evenly.
Sample sample(const Mask& set, std::size_t most);

// How well a condition tells the set from the rest.
struct Score {
  double named_in = 0;   // elements in the set that it names
  double named_out = 0;  // others that it names
  double in = 0;         // elements in the set

  double precision() const { return named_in + named_out == 0 ? 0 : named_in / (named_in + named_out); }
  double recall() const { return in == 0 ? 0 : named_in / in; }
  // The harmonic mean of both.
  double f() const { return 2 * named_in / (in + named_in + named_out); }
};
Score score(const Sample& sample, const Bits& condition);

Bits both(const Bits& a, const Bits& b);

}  // namespace assay::diff

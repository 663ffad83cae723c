// Sizes for the symbols of a shape rule.
#pragma once

#include <cstdint>

#include "draw.h"
#include "vocabulary/shape_rule.h"

namespace assay {

// Tensors of generated cases have at most this many dimensions, and a few, where an operator takes any number, three more.
inline constexpr std::size_t kMaxRank = 5;
inline constexpr std::size_t kDeepRank = kMaxRank + 3;

struct SizeBudget {
  std::int64_t elements = 4096;  // of each tensor
  std::int64_t work = 300'000;   // product of all symbols and runs: the multiply-adds of a matrix product
};

bool fits(const ShapeAlternative& alternative, const ShapeBinding& binding, const SizeBudget& budget);

// How many dimensions the first run may have, the others having one.
std::size_t greatest_run(const ShapeAlternative& alternative);

// Whether dimensions are nothing special to it, as they are to windows.
bool takes_any_rank(const ShapeAlternative& alternative);

// Random sizes: around every vector width, primes, small ones, all different, all equal, now and then empty, and within
// one of two budgets. With `deep`, the first run has more dimensions than greatest_run(). Precondition of `deep`: takes_any_rank().
ShapeBinding draw_binding(Draw& draw, const ShapeAlternative& alternative, bool deep = false);

// One very large dimension, preferably one that is summed over; the others are 1 to 3.
ShapeBinding draw_long_binding(Draw& draw, const ShapeAlternative& alternative);

// Enough work that kernels split it among threads: for each of two ATen's GRAIN_SIZE of 32,768 elements in some tensor,
// or a million multiply-adds.
ShapeBinding draw_split_binding(Draw& draw, const ShapeAlternative& alternative);

// The sizes, again and again, in the order of sizes_of(): up to `dimensions` for the first run, and one for each other.
// Windows are no larger than what they look at.
ShapeBinding cycle_binding(const ShapeAlternative& alternative, std::size_t dimensions,
                           const std::vector<std::int64_t>& sizes);

// The parts of which draw_binding() is made.
// One size: around every vector width, a prime, a small one, or some hundreds.
std::int64_t draw_size(Draw& draw);
// How many dimensions each run has, in order. A window has as many as the run that it lies in.
std::vector<std::size_t> draw_runs(Draw& draw, const ShapeAlternative& alternative);
// All sizes are 1.
ShapeBinding with_runs(const ShapeAlternative& alternative, const std::vector<std::size_t>& lengths);
// Windows of few elements, as people use them.
std::int64_t draw_window(Draw& draw);
// Makes windows no larger than what they look at.
void fit_windows(const ShapeAlternative& alternative, ShapeBinding& binding);
// All sizes but those of windows.
std::vector<std::int64_t*> free_sizes(const ShapeAlternative& alternative, ShapeBinding& binding);

// Every size of the binding: symbols, then windows, then other runs, in order of first use.
std::vector<std::int64_t*> sizes_of(const ShapeAlternative& alternative, ShapeBinding& binding);

}  // namespace assay

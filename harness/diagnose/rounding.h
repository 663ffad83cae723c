// Numbers that a file holds in a narrower dtype than they were computed in: they are known within a rounding, and so is what follows
// from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../model/call.h"
#include "vocabulary/reference.h"

namespace assay::diagnose {

// Whether numbers of `computed` lose bits where they are written down as `stored`.
bool is_narrower(Dtype stored, Dtype computed);

// Of a call: what its results and inputs lost on their way into a file.
struct Rounding {
  std::vector<std::optional<Dtype>> stored;  // by output: the narrower dtype, if it was stored in one
  std::vector<std::vector<double>>
      moved;  // by output and element: how far it may move as inputs do within theirs; empty if they are known

  bool any() const { return !stored.empty() || !moved.empty(); }
  // What may stand in the file. Files are written by rounding to nearest, or by cutting off.
  Interval widened(Interval i, int output, std::int64_t at) const;
};

// For each element, how far the number that was computed may be from the one that was stored.
std::vector<double> lost_of(const TensorData& t, Dtype stored);

// What was tried at random is not the worst that there is, and may have been cut off instead of rounded.
inline constexpr double kSlackOfMoved = 3;

// So many times how far each result moves where each number of argument i may be off by within[i] (row-major; empty: by nothing). It is tried, not
// proven: with all of them moved one way, and with each moved at random.
std::vector<std::vector<double>> moved_within(const Call& call,
                                              const std::vector<std::vector<double>>& within);

// Whether each number of `after` may be what is left in its dtype of the one of `before`, which itself may be off by `within` (or
// empty). Precondition: they have one shape, and are floating point.
bool may_be_rounded(const TensorData& before, const std::vector<double>& within, const TensorData& after);

// What became of `before` beside being written down in the narrower dtype of `after`: `before`, with the numbers of `after` where those
// may be what is left of it. Unchanged where that is all of it, or `after` is no narrower. Precondition: they have one shape.
TensorData but_for_rounding(const TensorData& before, const TensorData& after);

}  // namespace assay::diagnose

// The iteration space of an element-wise operator: what remains of shapes and strides when they are brought into the
// order of the output's memory and dimensions are joined wherever every operand allows it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "vocabulary/view.h"

namespace assay::cpu {

inline constexpr int kMaxRank = 64;  // as in ATen
inline constexpr int kMaxOperands = 4;

// Dimension 0 is the innermost: the one of the output's smallest stride. Operand 0 is the output. Strides count
// elements and are 0 where an operand is broadcast. Joined sizes are at least 2, so a tensor without gaps in any
// order of dimensions has rank 1, and a single element rank 0.
struct Space {
  int operands = 0;
  int rank = 0;
  std::int64_t count = 0;  // elements of the output
  std::array<std::int64_t, kMaxRank> size;
  std::array<std::array<std::int64_t, kMaxRank>, kMaxOperands> stride;

  bool all_zero(int operand) const {
    return std::all_of(stride[static_cast<std::size_t>(operand)].begin(),
                       stride[static_cast<std::size_t>(operand)].begin() + rank, [](auto s) { return s == 0; });
  }
};

// The first view is the output, whose shape the others broadcast to (NumPy's rule).
// Throws Refused for more than kMaxRank dimensions.
Space make_space(const View* const* views, int operands);

// Walks over a range of a space, a run along dimension 0 at a time.
class Runs {
 public:
  // Positions count elements in the order of the space; begin < end.
  Runs(const Space& space, std::int64_t begin, std::int64_t end);

  bool done() const { return left_ == 0; }

  void next();

  std::array<std::int64_t, kMaxOperands> offset;  // of the run's first element, for each operand
  std::int64_t length = 0;                        // elements of the run

 private:
  void measure();

  const Space& space_;
  std::int64_t left_;
  std::array<std::int64_t, kMaxRank> index_;
};

}  // namespace assay::cpu

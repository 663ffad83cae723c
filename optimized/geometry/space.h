// The iteration space of an element-wise operator: what remains of shapes and strides when they are brought
// into the order of the output's memory and dimensions are joined wherever every operand allows it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "vocabulary/view.h"

namespace assay::cpu {

inline constexpr int kMaxRank = 64;  // as in ATen
inline constexpr int kMaxOperands = 4;

// Dimension 0 is the innermost: the one of the output's smallest stride. Operand 0 is the output. Strides
// count elements and are 0 where an operand is broadcast. Joined sizes are at least 2, so a tensor without
// gaps in any order of dimensions has rank 1, and a single element rank 0.
struct Space {
  int operands = 0;
  int rank = 0;
  std::int64_t count = 0;  // elements of the output
  std::array<std::int64_t, kMaxRank> size;
  std::array<std::array<std::int64_t, kMaxRank>, kMaxOperands> stride;

  // Of an operand, along dimension 0.
  std::int64_t step(std::size_t operand) const { return rank == 0 ? 0 : stride[operand][0]; }
  bool all_zero(int operand) const {
    return std::all_of(stride[static_cast<std::size_t>(operand)].begin(),
                       stride[static_cast<std::size_t>(operand)].begin() + rank,
                       [](auto s) { return s == 0; });
  }
};

// The first view is the output, whose shape the others broadcast to (NumPy's rule).
// Throws Refused for more than kMaxRank dimensions.
Space make_space(const View* const* views, int operands);

// The space of dimensions [first, last) of views of one shape, in row-major order whatever their strides are.
// Precondition: at most kMaxRank dimensions.
Space row_major_space(const View* const* views, int operands, int first, int last);

// A space whose innermost dimensions are one row, although some inputs repeat within it: the bias of [rows,
// 3], say.
struct Folded {
  Space space;          // dimension 0 is the long row; its stride is 0 for the inputs that repeat
  std::int64_t period;  // elements after which they repeat
  std::array<bool, kMaxOperands> repeats{};
};

// Folds if the output is then without gaps, every input is so or is constant or repeats, and the period is at
// most `longest`; else nothing.
std::optional<Folded> fold(const Space& space, std::int64_t longest);

// A space cut into planes: of dimension 0, the columns, and another one, the rows.
struct Planes {
  Space space;  // of the planes: what other dimensions there are
  std::int64_t rows, columns;
  std::array<std::int64_t, kMaxOperands> row_step, column_step;

  Planes(const Space& whole, std::size_t along);
};

// Walks over a range of a space, a run along dimension 0 at a time.
class Runs {
 public:
  // Positions count elements in the order of the space; begin < end.
  Runs(const Space& space, std::int64_t begin, std::int64_t end);

  bool done() const { return left_ == 0; }

  void next();

  std::int64_t start() const { return index_[0]; }  // of the run in dimension 0
  std::array<std::int64_t, kMaxOperands> offset;    // of the run's first element, for each operand
  std::int64_t length = 0;                          // elements of the run

 private:
  void measure();

  const Space& space_;
  std::int64_t left_;
  std::array<std::int64_t, kMaxRank> index_;
};

}  // namespace assay::cpu

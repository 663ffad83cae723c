// Where elements of a tensor are in a set, as a picture: the last dimension from left to right, all others from top to bottom.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compare.h"
#include "vocabulary/shape_rule.h"

namespace assay::diff {

// A cell stands for a block of neighbours where there are more elements than cells.
struct Picture {
  std::size_t rows = 0, columns = 0;
  std::vector<float> share;                   // of each cell's elements, those in the set; row by row
  std::uint64_t of_rows = 0, of_columns = 0;  // elements that a whole column, and a whole row, stand for
  std::string down, across;                   // "dimensions 0 to 2", "dimension 3"
};

inline constexpr std::size_t kTerminalRows = 16, kTerminalColumns = 96;
inline constexpr std::size_t kDrawnRows = 128, kDrawnColumns = 160;

// A list is folded into rows of 64. Matrices, the last two dimensions, stand side by side where they would be four times as tall as they
// are wide one below the other. A tensor that is 16 times as tall as it is wide, or as wide as it is tall, is folded where it has
// more rows or columns than there is room for: rows stand side by side, or the parts of a row one below the other. Nothing of an
// empty tensor.
Picture picture(const Shape& shape, const Mask& set, std::size_t most_rows, std::size_t most_columns);

// "." below 10% of a cell, ":" below half, "+" below all, "#" all; a line for each row, between bars.
std::string to_text(const Picture& picture, const std::string& indent);

struct Drawn {
  std::string title;
  Picture picture;
};
// A page of all, one below the other; it needs nothing else to be looked at.
std::string to_svg(const std::vector<Drawn>& pictures);

}  // namespace assay::diff

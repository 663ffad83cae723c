// Where the elements of a tensor lie in memory, by name.
//
//   layout = contiguous | channels_last | permuted(ints) | step2 | offset(int) | expanded(ints) | strides(ints)
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "memory_format.h"
#include "shape_rule.h"

namespace assay {

// Case text, or a part of it, that is not one; the message says which field and why.
struct CaseError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Layout {
  enum class Kind : std::uint8_t { contiguous, channels_last, permuted, step2, offset, expanded, strides };
  Kind kind = Kind::contiguous;
  std::vector<std::int64_t> parameters;
  //   permuted: the order of dimensions in memory, outermost first
  //   offset: elements in front of the first one
  //   expanded: the dimensions with stride 0
  //   strides: the strides themselves, in elements (zero or positive)
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Strides in elements, and how many elements in memory the tensor spans from its first (0 for an empty tensor).
struct Strided {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  std::int64_t span = 0;
};
// Throws CaseError if the layout does not fit the rank (channels_last needs 4 or 5) or overlaps what it must not.
Strided strided(const Shape& shape, const Layout& layout);

// Throws CaseError for a text that is no layout.
Layout parse_layout(std::string_view text);
std::string text(const Layout& layout);

}  // namespace assay

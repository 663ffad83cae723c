// `assay diff`: two tensors, or two sets of tensors.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compare.h"
#include "match.h"
#include "picture.h"
#include "reports/style.h"
#include "rule.h"

namespace assay::diff {

struct TensorDiff {
  std::string name_a, name_b;
  std::string how;  // why they are taken for each other, if not by name
  Dtype dtype_a = Dtype::f32, dtype_b = Dtype::f32;
  Shape shape_a, shape_b;
  std::optional<Comparison> comparison;   // none: the shapes differ
  Class described = Class::equal;         // the rule is about elements of this class and of more severe ones
  std::optional<Rule> rule;               // none: nothing differs, or they are scattered
  std::optional<std::string> rearranged;  // what b is of a
  std::optional<Picture> small, large;    // of these elements, for a terminal and to be drawn
  std::string rounded = {};               // "B is A rounded to f16", where each element is exactly that

  bool differs() const { return !comparison || !comparison->same(); }
};

struct Diff {
  std::string file_a, file_b;
  std::vector<TensorDiff> tensors;
  struct Unmatched {
    std::string name, what;  // "f32[2x3]"
  };
  std::vector<Unmatched> only_a, only_b;
  struct Likely {
    std::string a, b;
    double alike;
  };
  std::vector<Likely> likely;            // of those, pairs of one shape
  std::vector<std::string> unsupported;  // messages about tensors that could not be read

  bool differs() const;
  // Whether no tensor of either file could be read, so that nothing is known.
  bool is_blind() const;
};

// Throws FileError. `progress` is told the name of each tensor before it is read.
Diff diff(const TensorFile& a, const TensorFile& b, const NameMap& map,
          const std::function<void(const std::string&)>& progress);

// Why a raw file has another size than was said of it, if the numbers of a tensor of the other file stand in it: "; its rows are 64
// elements apart, not 60, as the numbers of "y" show". Empty if none does.
std::string why_of_that_size(const RawSizeError& raw, const TensorFile& other);

// A line for each tensor that is the same, and a few for each that is not.
std::string to_text(const Diff& diff, Style style);
// {"format": "assay.diff/1", "a", "b", "same", "tensors": [..], "only_in_a", "only_in_b", "likely", "unsupported"}
std::string to_json(const Diff& diff);
// Where each tensor that differs does.
std::string to_svg(const Diff& diff);

}  // namespace assay::diff

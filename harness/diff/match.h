// Which tensor of one file belongs to which of another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "../tensors/tensor_file.h"

namespace assay::diff {

// Names in A -> names in B.
using NameMap = std::map<std::string, std::string>;

// A text file: a line for each pair, the name in A, spaces, the name in B. "#" begins a comment where it begins a line or follows
// white space; "act/prelu#2" is a name. One with spaces, or that begins with "#" or a quotation mark, stands in quotation marks, in
// which a backslash takes the next character as it is. Throws FileError that names the line.
NameMap read_name_map(const std::string& path);

struct Pair {
  std::size_t a, b;  // in entries()
  std::string how;   // empty: they have the same name; else why they are taken for each other
};

// Tensors of one shape that nothing else took, and too few of whose numbers are alike to take them for each other.
struct Likely {
  std::size_t a, b;
  double alike;  // the share of their numbers
};

struct Matching {
  std::vector<Pair> pairs;  // in the order of A
  std::vector<std::size_t> only_a, only_b;
  std::vector<Likely> likely;  // for each of only_a that has some the one that is most alike
};

// By the map; by equal names; and what is left, if there is one candidate alone: the only tensor of each file, or tensors of one
// shape whose numbers are mostly within 16 ulp. Such guesses say so. Throws FileError if the map names a tensor that there is not.
Matching match(const TensorFile& a, const TensorFile& b, const NameMap& map);

}  // namespace assay::diff

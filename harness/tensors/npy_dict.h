// The dict at the head of a .npy file, a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// Nothing is evaluated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layout.h"

namespace assay::tensors {

struct NpyDict {
  std::string descr;  // the text; of a structured dtype, the literal
  bool is_structured = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  // sizes below 0 included
};

// Fails where the text is no such dict, or lacks one of the three keys, has one twice, or has others.
NpyDict parse_npy_dict(std::string_view text, const Place& place);

}  // namespace assay::tensors

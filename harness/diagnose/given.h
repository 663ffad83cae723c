// A call made from what somebody has: tensors in files, and numbers on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../judge/judge.h"
#include "../model/call.h"
#include "rounding.h"

namespace assay::diagnose {

// "weight=@w.npy", "alpha=2", "padding=[1,1]", "bias=none"; a tensor is a file of one tensor, or FILE:NAME.
struct GivenArgument {
  std::string name;
  std::string value;  // "@w.npy", or as in a case text
};
GivenArgument parse_argument(const std::string& text);

struct GivenCall {
  Call call;
  std::string case_text;  // the same without its numbers
  std::vector<std::string>
      missing;  // tensors that the operator needs, and that were not given: `call` is not made then
};

// Throws CaseError if there is no such operator, or it does not take these arguments, and FileError for files.
GivenCall given_call(const std::string& op, const std::vector<GivenArgument>& arguments);

// A tensor: "y.npy", "all.npz:conv1", "case.h5:calls/0/inputs/self", "raw:f32[2x3]@y.bin".
TensorData read_tensor(const std::string& place);

// "y.npy", or "OUT=y.npy", where OUT is a result's name or "out0", "out1", ..: results as the call's outputs are. A file of another dtype is taken if each of its numbers is one of the
// result's dtype; that it is a narrower one is put down in `rounding`, and what that says is returned. Throws CaseError for an
// output that there is not, and where the shape is another one.
std::optional<std::string> read_result(const std::string& text, const Call& call, ExpectedOutputs& outputs,
                                       Rounding& rounding);

}  // namespace assay::diagnose

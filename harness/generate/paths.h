// Paths: kinds of calls that a kernel may have code of its own for, as kernels have it for what networks call.
//
// A fast path that is wrong shows in calls that take it, and in no other. So each is a question to generated cases: is one of you
// such a call? `assay selftest` asks it with a kernel that gives zeros there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

struct Path {
  std::string name;  // "stride 1,1 padding 1,1 dilation 1,1 groups 1 window 3,3", "K from 256 on"
  std::function<bool(const Case&)> takes;
};

// What the layers of the operator (layers.h) say of it:
// - one for each set of attributes and windows that a layer has, for calls that have all of it;
// - one for each class that layers are of (ordinary_classes);
// - one for each size from 16, 64 and 256 on, where a layer has that size, and for all sizes of a call from 16, 64 and 128 on;
// - one for results of 4,096, 32,768 and 262,144 elements and more.
// Of layers that are allowed with results of this dtype; without one, of all.
std::vector<Path> paths_of(const Operator& op, std::optional<Dtype> result_dtype);

// The attributes and windows of a case that choose among code paths, as text: numbers of windows, strides, paddings and dilations;
// choices; of other integers whether they are 0, 1 or more; the number of dimensions. Empty if the shape rule does not allow it.
std::string attributes_of(const Case& c);

// Classes (case_classes.h) that calls of networks are of, without those of data and of results' layouts, which lists of calls do
// not name.
std::vector<std::string> ordinary_classes(const Operator& op);

}  // namespace assay

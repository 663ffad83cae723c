// Which kernels run which dtypes on this machine: they are asked, with plain cases.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "../registry/registry.h"

namespace assay {

struct Answer {
  bool runs = false;
  std::string reason;  // if it does not run any of the cases: what it said of the first
};

using Answers = std::map<std::pair<const Kernel*, Dtype>, Answer>;

// Of every available kernel of the operators, for every dtype of its operator.
Answers ask(const Registry& registry, std::span<const Operator* const> operators);

}  // namespace assay

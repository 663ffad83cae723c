// Which kernels run which dtypes on this machine: they are asked, with plain cases.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "../registry/registry.h"

namespace assay {

struct Answer {
  bool runs = false;
  std::string reason;    // if it does not run any of the cases: what it said of the first, or how that ended
  bool refuses = false;  // and whether that was a refusal
};

using Answers = std::map<std::pair<const Kernel*, Dtype>, Answer>;

// Of every available kernel of the operators, for every dtype of its operator. `waiting` is called now and then until all have
// answered, which a kernel that hangs takes minutes to do.
Answers ask(const Registry& registry, std::span<const Operator* const> operators,
            const std::function<void(std::chrono::steady_clock::duration)>& waiting);

}  // namespace assay

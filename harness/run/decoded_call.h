// The arguments and outputs that a kernel is called with, as a worker reads them from the messages of the arena.
#pragma once

#include <assay/kernel.h>

#include <cstdint>
#include <vector>

#include "protocol.h"
#include "worker_memory.h"

namespace assay {

class DecodedCall {
 public:
  // What was decoded before is gone. What it points to is the arena's and its own.
  void decode(const WorkerMemory& memory, const WireEntry& entry);

  const assay_value* arguments() const { return values_.data(); }
  assay_tensor* const* outputs() const { return outputs_.data(); }

 private:
  const assay_tensor* const* list(const std::uint64_t* indices, std::uint32_t n);

  std::vector<assay_tensor> tensors_;
  std::vector<assay_tensor*> outputs_;
  std::vector<assay_value> values_;
  std::vector<std::vector<const assay_tensor*>> lists_;
};

}  // namespace assay

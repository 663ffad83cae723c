// One of the calls that a worker makes again and again, as it stands in the arena: what its buffers held before, and what it left there the
// first time.
#pragma once

#include <cstddef>
#include <vector>

#include "protocol.h"
#include "worker_memory.h"

namespace assay {

struct RepeatedCall {
  const WireEntry* place = nullptr;              // whose buffers the kernel is given
  const WireEntry* data = nullptr;               // whose buffers had the data when the batch began
  std::vector<std::vector<std::byte>> before{};  // of each buffer
  std::vector<std::vector<std::byte>> after{};   // of those that are written; empty until it has run

  // What its buffers hold now is what they held before.
  void remember(const WorkerMemory& memory);

  // Everything as it was before the first call; what is only read, where other data has come to lie there.
  void restore(const WorkerMemory& memory, bool inputs) const;

  // Whether it left the same as the first time, which this may be.
  bool left_the_same(const WorkerMemory& memory);

  // So that the harness finds it where the other data was.
  void show(const WorkerMemory& memory) const;
};

}  // namespace assay

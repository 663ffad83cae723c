// Asynchronous copies to shared memory that have been asked for (cp.async), of the threads of one block.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace assay::cuda::emulation {

class Copies {
 public:
  // A block begins, and with it `threads` queues; what another one left is forgotten.
  void clear(std::size_t threads) {
    if (used_ || queues_.size() < threads) queues_.assign(threads, {});
    used_ = false;
  }
  void add(unsigned thread, void* to, const void* from, int bytes);
  void end_group(unsigned thread);
  // Performs all groups of the thread but the last `groups`.
  void arrive(unsigned thread, std::size_t groups);

 private:
  struct Copy {
    void* to;
    const void* from;
    int bytes;
  };
  struct Queue {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
  };
  std::vector<Queue> queues_;
  bool used_ = false;
};

}  // namespace assay::cuda::emulation

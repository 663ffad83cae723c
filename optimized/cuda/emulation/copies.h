// Asynchronous copies to shared memory that have been asked for (cp.async), of the threads of one block.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::cuda::emulation {

class Copies {
 public:
  // A block begins, and with it `threads` queues; what another one left is forgotten.
  void clear(std::size_t threads) {
    if (queues_.size() < threads) queues_.resize(threads);
    if (used_)
      for (Queue& q : queues_) q.clear();
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
    std::vector<Copy> copies;       // of groups, one after another, and those of the open one
    std::vector<std::size_t> ends;  // of groups
    std::size_t first = 0;          // the first group that has not been performed, and
    std::size_t begin = 0;          // its first copy
    void clear() {
      copies.clear();
      ends.clear();
      first = begin = 0;
    }
  };
  std::vector<Queue> queues_;
  bool used_ = false;
};

}  // namespace assay::cuda::emulation

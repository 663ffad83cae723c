// One call of a oneDNN primitive on tensors as they are: every stride is passed on, nothing is copied.
#pragma once

#include <vector>

#include "isa_level.h"
#include "primitive_cache.h"
#include "vocabulary/view.h"

namespace assay::onednn {

// The primitives of this process.
PrimitiveCache& primitives();

// The description of a tensor. A rank of 0 becomes a rank of 1; the stride of a dimension of size 1, which
// means nothing, becomes the contiguous one. Throws Refused for what oneDNN cannot describe.
Descriptor describe(const View& tensor);

// Throws Refused for a result of integers, of a primitive that computes: those of oneDNN stand for quantised numbers, are
// computed in f32, and saturate, where ATen's wrap.
void refuse_integers(const View& out);

// The same tensor with dimensions of size 1 in front, as broadcasting reads it.
Descriptor with_rank(const Descriptor& tensor, int rank);

class Operation {
 public:
  // Throws Refused if this process cannot run the level.
  Operation(const Level& level, dnnl::primitive::kind kind);

  PrimitiveKey key;

  // Whether run() will only ask: then tensors may be without data.
  static bool asks_only();

  // Adds a tensor as argument DNNL_ARG_...; the order is that of key.memories.
  void tensor(int argument, const View& view) { tensor(argument, view, describe(view)); }
  void tensor(int argument, const View& view, const Descriptor& as);

  // Whether it ran: under AskingOnly it does not. Throws Refused with oneDNN's reason if it has no such primitive.
  bool run(PrimitiveCache::Build build);

 private:
  struct Bound {
    int argument;
    void* data;
  };
  const Level* level_;
  std::vector<Bound> bound_;
};

}  // namespace assay::onednn

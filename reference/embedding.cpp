#include "ops/embedding.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Embedding {
  template <class S>
  S operator()(const Tensor<S>& weight, const Tensor<S>& indices, std::int64_t, bool, bool,
               const Index& i) const {
    return weight(indices.integer_at(i.number() / weight.size(1)), i[i.rank() - 1]);
  }
};

const EnrolledReference embedding_reference{reference<ops::embedding, Embedding>()};

}  // namespace
}  // namespace assay

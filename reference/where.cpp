#include "ops/where.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Where {
  template <class S>
  S operator()(const Tensor<S>& condition, const Tensor<S>& self, const Tensor<S>& other,
               const Index& i) const {
    return select(condition[i] != S(0), self[i], other[i]);
  }
};

const EnrolledReference where_reference{reference<ops::where_self, Where>()};

}  // namespace
}  // namespace assay

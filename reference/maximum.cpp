#include "ops/maximum.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Maximum {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, const Index& i) const {
    return maximum(self[i], other[i]);
  }
};

const EnrolledReference enrolled{reference<ops::maximum, Maximum>()};

}  // namespace
}  // namespace assay

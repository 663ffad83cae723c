#include "ops/mul.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Mul {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, const Index& i) const {
    return self[i] * other[i];
  }
};

const EnrolledReference mul_reference{reference<ops::mul_tensor, Mul>()};

}  // namespace
}  // namespace assay

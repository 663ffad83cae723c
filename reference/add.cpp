#include "ops/add.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Add {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, Scalar alpha, const Index& i) const {
    return self[i] + param<S>(alpha) * other[i];
  }
};

struct Sub {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, Scalar alpha, const Index& i) const {
    return self[i] - param<S>(alpha) * other[i];
  }
};

const EnrolledReference add_reference[] = {EnrolledReference{reference<ops::add_tensor, Add>()},
                                           EnrolledReference{reference<ops::sub_tensor, Sub>()}};

}  // namespace
}  // namespace assay

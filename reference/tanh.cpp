#include "ops/tanh.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Tanh {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return tanh(self[i]);
  }
};

struct TanhBackward {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& output, const Index& i) const {
    return grad[i] * (S(1) - output[i] * output[i]);
  }
};

const EnrolledReference enrolled[] = {EnrolledReference{reference<ops::tanh, Tanh>()},
                                      EnrolledReference{reference<ops::tanh_backward, TanhBackward>()}};

}  // namespace
}  // namespace assay

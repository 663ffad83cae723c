#include "ops/relu.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Relu {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    const S x = self[i];
    return select(x < S(0), S(0), x);  // NaN and -0 stay, as in ATen
  }
};

struct LeakyRelu {
  template <class S>
  S operator()(const Tensor<S>& self, Scalar negative_slope, const Index& i) const {
    const S x = self[i];
    return select(x > S(0), x, x * param<S>(negative_slope.real));
  }
};

const EnrolledReference enrolled[] = {EnrolledReference{reference<ops::relu, Relu>()},
                                      EnrolledReference{reference<ops::leaky_relu, LeakyRelu>()}};

}  // namespace
}  // namespace assay

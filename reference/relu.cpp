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

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct NanAsZero {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return select(self[i] > S(0), self[i], S(0));
  }
};

struct LargerOfSlopes {
  template <class S>
  S operator()(const Tensor<S>& self, Scalar negative_slope, const Index& i) const {
    return maximum(self[i], self[i] * param<S>(negative_slope.real));
  }
};

const EnrolledReference relu_reference[] = {EnrolledReference{reference<ops::relu, Relu>()},
                                            EnrolledReference{reference<ops::leaky_relu, LeakyRelu>()}};

const EnrolledWrong relu_wrong[] = {
    EnrolledWrong{wrong_formula<ops::relu, NanAsZero>(
        "nan_as_zero", "max(x, 0) as a vector instruction has it: 0 for NaN", kFloatingPoint)},
    EnrolledWrong{wrong_formula<ops::leaky_relu, LargerOfSlopes>(
        "larger_product", "max(x, a x), which is the same for slopes up to 1")}};

}  // namespace
}  // namespace assay

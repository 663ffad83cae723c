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

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct Rational {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    const S x = minimum(maximum(self[i], S(-3)), S(3));
    return x * (S(27) + x * x) / (S(27) + S(9) * x * x);
  }
};

struct NotSquared {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& output, const Index& i) const {
    return grad[i] * (S(1) - output[i]);
  }
};

const EnrolledReference tanh_reference[] = {EnrolledReference{reference<ops::tanh, Tanh>()},
                                            EnrolledReference{reference<ops::tanh_backward, TanhBackward>()}};

const EnrolledWrong tanh_wrong[] = {
    EnrolledWrong{
        wrong_formula<ops::tanh, Rational>("rational", "x (27 + x^2) / (27 + 9 x^2) between -3 and 3")},
    EnrolledWrong{wrong_formula<ops::tanh_backward, NotSquared>("not_squared", "grad (1 - output)")}};

}  // namespace
}  // namespace assay

#include "ops/sigmoid.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Sigmoid {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return S(1) / (S(1) + exp(-self[i]));
  }
};

struct Silu {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return self[i] / (S(1) + exp(-self[i]));
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct HardSigmoid {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return minimum(maximum(self[i] / S(6) + S(0.5), S(0)), S(1));
  }
};

struct Quick {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return self[i] / (S(1) + exp(S(-1.702) * self[i]));
  }
};

const EnrolledReference sigmoid_reference[] = {EnrolledReference{reference<ops::sigmoid, Sigmoid>()},
                                               EnrolledReference{reference<ops::silu, Silu>()}};

const EnrolledWrong sigmoid_wrong[] = {
    EnrolledWrong{wrong_formula<ops::sigmoid, HardSigmoid>("hard", "min(max(x / 6 + 1/2, 0), 1)")},
    EnrolledWrong{wrong_formula<ops::silu, Quick>("steeper", "x sigmoid(1.702 x)")}};

}  // namespace
}  // namespace assay

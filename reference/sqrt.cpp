#include "ops/sqrt.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Sqrt {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return sqrt(self[i]);
  }
};

struct Rsqrt {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return S(1) / sqrt(self[i]);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct OfAbsoluteValue {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return sqrt(abs(self[i]));
  }
};

struct WithEpsilon {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return S(1) / sqrt(self[i] + S(1e-6));
  }
};

const EnrolledReference sqrt_reference[] = {EnrolledReference{reference<ops::sqrt, Sqrt>()},
                                            EnrolledReference{reference<ops::rsqrt, Rsqrt>()}};

const EnrolledWrong sqrt_wrong[] = {
    EnrolledWrong{wrong_formula<ops::sqrt, OfAbsoluteValue>("of_absolute_value", "takes the root of |x|")},
    EnrolledWrong{wrong_formula<ops::rsqrt, WithEpsilon>("with_epsilon",
                                                         "adds 1e-6, so that nothing is divided by 0")}};

}  // namespace
}  // namespace assay

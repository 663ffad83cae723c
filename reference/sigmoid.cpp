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

const EnrolledReference enrolled[] = {EnrolledReference{reference<ops::sigmoid, Sigmoid>()},
                                      EnrolledReference{reference<ops::silu, Silu>()}};

}  // namespace
}  // namespace assay

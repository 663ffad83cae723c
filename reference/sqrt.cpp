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

const EnrolledReference enrolled[] = {EnrolledReference{reference<ops::sqrt, Sqrt>()},
                                      EnrolledReference{reference<ops::rsqrt, Rsqrt>()}};

}  // namespace
}  // namespace assay

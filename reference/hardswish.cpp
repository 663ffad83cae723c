#include "ops/hardswish.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Hardswish {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    const S x = self[i];
    return x * minimum(maximum(x + S(3), S(0)), S(6)) / S(6);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct Swish {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return self[i] / (S(1) + exp(-self[i]));
  }
};

const EnrolledReference hardswish_reference{reference<ops::hardswish, Hardswish>()};

const EnrolledWrong hardswish_wrong[] = {
    EnrolledWrong{wrong_formula<ops::hardswish, Swish>("swish", "x sigmoid(x)")}};

}  // namespace
}  // namespace assay

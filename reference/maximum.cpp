#include "ops/maximum.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Maximum {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, const Index& i) const {
    return maximum(self[i], other[i]);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct NanIgnored {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& other, const Index& i) const {
    return select(is_nan(self[i]) || other[i] > self[i], other[i], self[i]);
  }
};

const EnrolledReference maximum_reference{reference<ops::maximum, Maximum>()};

const EnrolledWrong maximum_wrong[] = {EnrolledWrong{wrong_formula<ops::maximum, NanIgnored>(
    "nan_ignored", "gives the number beside NaN, as fmax does", kFloatingPoint)}};

}  // namespace
}  // namespace assay

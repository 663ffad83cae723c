#include "ops/elu.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Elu {
  template <class S>
  S operator()(const Tensor<S>& self, Scalar alpha, Scalar scale, Scalar input_scale, const Index& i) const {
    const S x = self[i];
    const S s = param<S>(scale.real);
    return select(x <= S(0), param<S>(alpha.real) * s * expm1(x * param<S>(input_scale.real)), s * x);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct ScaleOnOneSide {
  template <class S>
  S operator()(const Tensor<S>& self, Scalar alpha, Scalar scale, Scalar input_scale, const Index& i) const {
    const S x = self[i];
    return select(x <= S(0), param<S>(alpha.real) * expm1(x * param<S>(input_scale.real)),
                  param<S>(scale.real) * x);
  }
};

const EnrolledReference elu_reference{reference<ops::elu, Elu>()};

const EnrolledWrong elu_wrong[] = {
    EnrolledWrong{wrong_formula<ops::elu, ScaleOnOneSide>("scale_on_one_side", "leaves scale out below 0")}};

}  // namespace
}  // namespace assay

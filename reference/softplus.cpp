#include "ops/softplus.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Softplus {
  template <class S>
  S operator()(const Tensor<S>& self, Scalar beta, Scalar threshold, const Index& i) const {
    const S x = self[i];
    const S b = param<S>(beta.real);
    return select(x * b > param<S>(threshold.real), x, log1p(exp(x * b)) / b);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct NotDivided {
  template <class S>
  S operator()(const Tensor<S>& self, Scalar beta, Scalar threshold, const Index& i) const {
    const S x = self[i], b = param<S>(beta.real);
    return select(x * b > param<S>(threshold.real), x, log1p(exp(x * b)));
  }
};

struct ThresholdOfInput {
  template <class S>
  S operator()(const Tensor<S>& self, Scalar beta, Scalar threshold, const Index& i) const {
    const S x = self[i], b = param<S>(beta.real);
    return select(x > param<S>(threshold.real), x, log1p(exp(x * b)) / b);
  }
};

const EnrolledReference softplus_reference{reference<ops::softplus, Softplus>()};

const EnrolledWrong softplus_wrong[] = {
    EnrolledWrong{wrong_formula<ops::softplus, NotDivided>("not_divided", "does not divide by beta")},
    EnrolledWrong{wrong_formula<ops::softplus, ThresholdOfInput>(
        "threshold_of_input", "compares x, and not beta x, with the threshold")}};

}  // namespace
}  // namespace assay

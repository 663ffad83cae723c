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

const EnrolledReference enrolled{reference<ops::softplus, Softplus>()};

}  // namespace
}  // namespace assay

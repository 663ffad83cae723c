#include "ops/clamp.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Clamp {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<Scalar> min, std::optional<Scalar> max,
               const Index& i) const {
    S x = self[i];
    if (min) x = select(x < param<S>(*min), param<S>(*min), x);  // NaN stays, and -0 beside 0
    if (max) x = select(x > param<S>(*max), param<S>(*max), x);
    return x;
  }
};

const EnrolledReference enrolled{reference<ops::clamp, Clamp>()};

}  // namespace
}  // namespace assay

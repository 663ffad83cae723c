#include "ops/clamp.h"

#include <cmath>

#include "reference_of.h"

namespace assay {
namespace {

struct Clamp {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<Scalar> min, std::optional<Scalar> max,
               const Index& i) const {
    // Of two bounds that are given, one that is NaN makes every result NaN; alone it is no bound.
    if (min && max && (std::isnan(min->real) || std::isnan(max->real)))
      return param<S>(std::isnan(min->real) ? *min : *max);
    S x = self[i];
    if (min) x = select(x < param<S>(*min), param<S>(*min), x);  // NaN stays, and -0 beside 0
    if (max) x = select(x > param<S>(*max), param<S>(*max), x);
    return x;
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct UpperBoundFirst {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<Scalar> min, std::optional<Scalar> max,
               const Index& i) const {
    S x = self[i];
    if (max) x = select(x > param<S>(*max), param<S>(*max), x);
    if (min) x = select(x < param<S>(*min), param<S>(*min), x);
    return x;
  }
};

const EnrolledReference clamp_reference{reference<ops::clamp, Clamp>()};

const EnrolledWrong clamp_wrong[] = {EnrolledWrong{wrong_formula<ops::clamp, UpperBoundFirst>(
    "upper_bound_first", "max(min(x, max), min), which gives min where min is above max")}};

}  // namespace
}  // namespace assay

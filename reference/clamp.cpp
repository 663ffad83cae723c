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

// NaN of a bound wins here, wherever it is.
struct ClampBetween {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>* min, const Tensor<S>* max, const Index& i) const {
    S x = self[i];
    if (min != nullptr) x = select(is_nan((*min)[i]) || x < (*min)[i], (*min)[i], x);
    if (max != nullptr) x = select(is_nan((*max)[i]) || x > (*max)[i], (*max)[i], x);
    return x;
  }
};

struct NanOfBoundIgnored {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>* min, const Tensor<S>* max, const Index& i) const {
    S x = self[i];
    if (min != nullptr) x = select(x < (*min)[i], (*min)[i], x);
    if (max != nullptr) x = select(x > (*max)[i], (*max)[i], x);
    return x;
  }
};

struct UpperTensorFirst {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>* min, const Tensor<S>* max, const Index& i) const {
    S x = self[i];
    if (max != nullptr) x = select(x > (*max)[i], (*max)[i], x);
    if (min != nullptr) x = select(x < (*min)[i], (*min)[i], x);
    return x;
  }
};

const EnrolledReference clamp_reference{reference<ops::clamp, Clamp>()};
const EnrolledReference clamp_tensor_reference{reference<ops::clamp_tensor, ClampBetween>()};

const EnrolledWrong clamp_wrong[] = {
    EnrolledWrong{wrong_formula<ops::clamp, UpperBoundFirst>(
        "upper_bound_first", "max(min(x, max), min), which gives min where min is above max")},
    EnrolledWrong{wrong_formula<ops::clamp_tensor, NanOfBoundIgnored>(
        "nan_ignored", "takes a bound that is NaN for none", kFloatingPoint)},
    EnrolledWrong{wrong_formula<ops::clamp_tensor, UpperTensorFirst>(
        "upper_bound_first", "max(min(x, max), min), which gives min where min is above max")}};

}  // namespace
}  // namespace assay

#include "ops/prelu.h"

#include "reference_of.h"

namespace assay {
namespace {

// The slope that belongs to an element: one for all, or one for each channel.
template <class S>
S slope(const Tensor<S>& weight, const Index& i) {
  return weight.numel() == 1 ? weight(0) : weight(i[1]);
}

struct Prelu {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& weight, const Index& i) const {
    const S x = self[i];
    return select(x > S(0), x, slope(weight, i) * x);
  }
};

struct PreluGradSelf {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& self, const Tensor<S>& weight, const Index& i) const {
    return select(self[i] > S(0), grad[i], slope(weight, i) * grad[i]);
  }
};

struct PreluGradWeight {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& self, const Tensor<S>& weight, const Index& c) const {
    const auto term = [&](std::int64_t n) {
      const S x = self.at(n);
      return select(x > S(0), S(0), x * grad.at(n));
    };
    if (weight.numel() == 1) return sum<S>(self.numel(), term);
    const Fibers f(self.shape(), 1);
    return sum<S>(f.outer * f.inner, [&](std::int64_t k) {
      return term((k / f.inner * f.size + c[0]) * f.inner + k % f.inner);
    });
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct LargerProduct {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& weight, const Index& i) const {
    return maximum(self[i], slope(weight, i) * self[i]);
  }
};

struct LastDimensionsSlope {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& weight, const Index& i) const {
    const S x = self[i];
    return select(x > S(0), x, weight(i.rank() < 2 ? 0 : i[i.rank() - 1] % weight.numel()) * x);
  }
};

struct KinkOnTheOtherSide {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& self, const Tensor<S>& weight, const Index& i) const {
    return select(self[i] >= S(0), grad[i], slope(weight, i) * grad[i]);
  }
};

// The gradient of weight from the elements above 0; or without regard to their sign.
template <bool kAll>
struct GradWeightOfOthers {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& self, const Tensor<S>& weight, const Index& c) const {
    const auto term = [&](std::int64_t n) {
      const S x = self.at(n), product = x * grad.at(n);
      return kAll ? product : select(x > S(0), product, S(0));
    };
    if (weight.numel() == 1) return sum<S>(self.numel(), term);
    const Fibers f(self.shape(), 1);
    return sum<S>(f.outer * f.inner, [&](std::int64_t k) {
      return term((k / f.inner * f.size + c[0]) * f.inner + k % f.inner);
    });
  }
};

const EnrolledReference prelu_reference[] = {
    EnrolledReference{reference<ops::prelu, Prelu>()},
    EnrolledReference{reference<ops::prelu_backward, PreluGradSelf, PreluGradWeight>()}};

const EnrolledWrong prelu_wrong[] = {
    EnrolledWrong{wrong_formula<ops::prelu, LargerProduct>(
        "larger_product", "gives max(x, w x), which is the same for slopes up to 1")},
    EnrolledWrong{
        wrong_formula<ops::prelu, LastDimensionsSlope>(
            "slope_of_the_last_dimension", "takes the slope by the last index, as in channels-last memory")
            .as_defined_by("ONNX PRelu, where the slope is broadcast from the last dimension as in NumPy")},
    EnrolledWrong{wrong_formula<ops::prelu_backward, KinkOnTheOtherSide, PreluGradWeight>(
        "kink_on_the_other_side", "passes the gradient on at 0")},
    EnrolledWrong{wrong_formula<ops::prelu_backward, PreluGradSelf, GradWeightOfOthers<false>>(
        "weight_of_the_other_side", "adds the gradient of weight over elements above 0")},
    EnrolledWrong{wrong_formula<ops::prelu_backward, PreluGradSelf, GradWeightOfOthers<true>>(
        "weight_of_both_sides", "adds the gradient of weight over all elements, whatever their sign")}};

}  // namespace
}  // namespace assay

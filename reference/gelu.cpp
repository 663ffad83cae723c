#include "ops/gelu.h"

#include "in_f32.h"
#include "reference_of.h"

namespace assay {
namespace {

// Literals of the formulas.
constexpr double kSqrtHalf = 0.70710678118654752440;          // 1 / sqrt(2)
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;     // sqrt(2 / pi)
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;  // 1 / sqrt(2 pi)
constexpr double kCubic = 0.044715;

struct Gelu {
  template <class S>
  S operator()(const Tensor<S>& self, std::string_view approximate, const Index& i) const {
    const S x = self[i];
    if (approximate == "none") return S(0.5) * x * (S(1) + erf(x * S(kSqrtHalf)));
    return S(0.5) * x * (S(1) + tanh(S(kSqrtTwoOverPi) * (x + S(kCubic) * (x * x * x))));
  }
};

struct GeluBackward {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& self, std::string_view approximate,
               const Index& i) const {
    const S x = self[i];
    if (approximate == "none") {
      const S cdf = S(0.5) * (S(1) + erf(x * S(kSqrtHalf)));
      const S pdf = S(kInverseSqrtTwoPi) * exp(S(-0.5) * x * x);
      return grad[i] * (cdf + x * pdf);
    }
    const S t = tanh(S(kSqrtTwoOverPi) * (x + S(kCubic) * (x * x * x)));
    const S slope = S(kSqrtTwoOverPi) * (S(1) + S(3 * kCubic) * (x * x));
    return grad[i] * (S(0.5) * (S(1) + t) + S(0.5) * x * (S(1) - t * t) * slope);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct BySigmoid {
  template <class S>
  S operator()(const Tensor<S>& self, std::string_view, const Index& i) const {
    return self[i] / (S(1) + exp(S(-1.702) * self[i]));
  }
};

// Literals of other implementations. (clang 14 has no template arguments of type double.)
struct ShortCubic {
  static constexpr double root = kSqrtTwoOverPi, cubic = 0.0447;
};
struct LostDigit {
  static constexpr double root = kSqrtTwoOverPi, cubic = 0.04715;
};
struct ShortRoot {
  static constexpr double root = 0.79788, cubic = kCubic;
};
template <class L>
struct WithLiterals {
  template <class S>
  S operator()(const Tensor<S>& self, std::string_view approximate, const Index& i) const {
    if (approximate == "none") return Gelu{}(self, approximate, i);
    const S x = self[i];
    return S(0.5) * x * (S(1) + tanh(S(L::root) * (x + S(L::cubic) * (x * x * x))));
  }
};

struct SquareForCube {
  template <class S>
  S operator()(const Tensor<S>& self, std::string_view, const Index& i) const {
    const S x = self[i];
    return S(0.5) * x * (S(1) + tanh(S(kSqrtTwoOverPi) * (x + S(kCubic) * (x * x))));
  }
};

struct WithoutTheRoot {
  template <class S>
  S operator()(const Tensor<S>& self, std::string_view approximate, const Index& i) const {
    if (approximate != "none") return Gelu{}(self, approximate, i);
    return S(0.5) * self[i] * (S(1) + erf(self[i]));
  }
};

// tanh(y) as (exp(2 y) - 1) / (exp(2 y) + 1), in f32.
struct Overflowing {
  template <class S>
  S operator()(const Tensor<S>& self, std::string_view approximate, const Index& i) const {
    if (approximate == "none") return Gelu{}(self, approximate, i);
    const S x = self[i];
    const S e = in_f32(exp(S(2 * kSqrtTwoOverPi) * (x + S(kCubic) * (x * x * x))));
    return S(0.5) * x * (S(1) + in_f32(e - S(1)) / in_f32(e + S(1)));
  }
};

struct WithoutDensity {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& self, std::string_view, const Index& i) const {
    return grad[i] * (S(0.5) * (S(1) + erf(self[i] * S(kSqrtHalf))));
  }
};

const EnrolledReference gelu_reference[] = {EnrolledReference{reference<ops::gelu, Gelu>()},
                                            EnrolledReference{reference<ops::gelu_backward, GeluBackward>()}};

const EnrolledWrong gelu_wrong[] = {
    EnrolledWrong{wrong_formula<ops::gelu, Overflowing>(
        "overflows",
        "computes tanh(y) as (exp(2 y) - 1) / (exp(2 y) + 1), which is NaN where exp(2 y) is too large for f32",
        kComputedInF32)},
    EnrolledWrong{wrong_formula<ops::gelu, BySigmoid>("by_sigmoid", "gives x sigmoid(1.702 x)")
                      .as_defined_by("QuickGELU of OpenAI's CLIP")},
    EnrolledWrong{wrong_formula<ops::gelu, WithLiterals<ShortCubic>>(
        "short_constant", "takes 0.0447 for 0.044715", only(Dtype::f64) | only(Dtype::f32))},
    EnrolledWrong{wrong_formula<ops::gelu, WithLiterals<LostDigit>>(
        "lost_digit", "takes 0.04715 for 0.044715", only(Dtype::f64) | only(Dtype::f32))},
    EnrolledWrong{wrong_formula<ops::gelu, WithLiterals<ShortRoot>>(
        "short_root", "takes 0.79788 for sqrt(2 / pi)", only(Dtype::f64) | only(Dtype::f32))},
    EnrolledWrong{wrong_formula<ops::gelu, SquareForCube>("square_for_cube",
                                                          "takes x^2 for x^3 in the argument of tanh")},
    EnrolledWrong{wrong_formula<ops::gelu, WithoutTheRoot>("without_the_root",
                                                           "takes erf(x), and not erf(x / sqrt(2))")},
    EnrolledWrong{
        wrong_formula<ops::gelu_backward, WithoutDensity>("without_density", "leaves x pdf(x) out")}};

}  // namespace
}  // namespace assay

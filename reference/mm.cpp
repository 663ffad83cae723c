#include "ops/mm.h"

#include "products.h"
#include "reference_of.h"
#include "signed.h"

namespace assay {
namespace {

struct Mm {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mat2, const Index& i) const {
    return sum_of_products(self.size(1), self, mat2, [&](std::int64_t k) {
      return Factors{self.number(i[0], k), mat2.number(k, i[1])};
    });
  }
};

// What is added to a product is one more term of its sum: kernels may begin with it, or end. The factor may meet
// the sum or each of its terms.
struct Addmm {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mat1, const Tensor<S>& mat2, Scalar beta, Scalar alpha,
               const Index& i) const {
    const std::int64_t depth = mat1.size(1);
    const S factor = param<S>(alpha);
    const bool adds = beta.real != 0;
    const S addend = adds ? param<S>(beta) * self[i] : S(0);
    const auto factors = [&](std::int64_t k) { return Factors{mat1.number(i[0], k), mat2.number(k, i[1])}; };
    if (alpha.real == 1) return sum_of_products(depth, mat1, mat2, factors, adds ? &addend : nullptr);
    const S scaled = factor * sum_of_products(depth, mat1, mat2, factors);
    return either(adds ? scaled + addend : scaled, [&] {
      return sum<S>(depth + (adds ? 1 : 0), [&](std::int64_t k) {
        return k == depth ? addend : factor * (mat1(i[0], k) * mat2(k, i[1]));
      });
    });
  }
};

// beta = 0 leaves self out, whatever it holds: BLAS and ATen do not read it then.
struct BetaMultiplies {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mat1, const Tensor<S>& mat2, Scalar beta, Scalar alpha,
               const Index& i) const {
    const auto factors = [&](std::int64_t k) { return Factors{mat1.number(i[0], k), mat2.number(k, i[1])}; };
    return param<S>(alpha) * sum_of_products(mat1.size(1), mat1, mat2, factors) + param<S>(beta) * self[i];
  }
};

struct Bmm {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mat2, const Index& i) const {
    return sum_of_products(self.size(2), self, mat2, [&](std::int64_t k) {
      return Factors{self.number(i[0], i[1], k), mat2.number(i[0], k, i[2])};
    });
  }
};

struct Linear {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias, const Index& i) const {
    const std::int64_t depth = weight.size(1), column = i[i.rank() - 1];
    const std::int64_t row = i.number() / weight.size(0);
    const auto factors = [&](std::int64_t k) { return Factors{row * depth + k, weight.number(column, k)}; };
    if (bias == nullptr) return sum_of_products(depth, input, weight, factors);
    const S last = (*bias)(column);
    return sum_of_products(depth, input, weight, factors, &last);
  }
};

// As where a ReLU is fused with the product, and not with what is added to it.
struct LinearReluBeforeBias {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias, const Index& i) const {
    const S product = maximum(Linear{}(input, weight, static_cast<const Tensor<S>*>(nullptr), i), S(0));
    return bias == nullptr ? product : product + (*bias)(i[i.rank() - 1]);
  }
};

const EnrolledReference mm_reference[] = {
    EnrolledReference{reference<ops::mm, Mm>()}, EnrolledReference{reference<ops::addmm, Addmm>()},
    EnrolledReference{reference<ops::bmm, Bmm>()}, EnrolledReference{reference<ops::linear, Linear>()}};

const EnrolledWrong mm_wrong[] = {
    EnrolledWrong{wrong_formula<ops::addmm, BetaMultiplies>(
        "zero_beta_multiplies",
        "multiplies self by beta = 0, where it must not be read: NaN and infinities become NaN",
        kFloatingPoint)},
    EnrolledWrong{wrong_formula<ops::linear, LinearReluBeforeBias>(
        "relu_before_bias", "takes negative products as 0 before it adds bias", kSigned)}};

}  // namespace
}  // namespace assay

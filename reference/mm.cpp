#include "ops/mm.h"

#include "products.h"
#include "reference_of.h"

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

const EnrolledReference mm_reference[] = {
    EnrolledReference{reference<ops::mm, Mm>()}, EnrolledReference{reference<ops::addmm, Addmm>()},
    EnrolledReference{reference<ops::bmm, Bmm>()}, EnrolledReference{reference<ops::linear, Linear>()}};

}  // namespace
}  // namespace assay

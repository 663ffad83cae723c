#include "ops/mm.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Mm {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mat2, const Index& i) const {
    return sum<S>(self.size(1), [&](std::int64_t k) { return self(i[0], k) * mat2(k, i[1]); });
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
    const auto product = [&](std::int64_t k) { return mat1(i[0], k) * mat2(k, i[1]); };
    const auto by_terms = [&] {
      return sum<S>(depth + (adds ? 1 : 0), [&](std::int64_t k) {
        if (k == depth) return addend;
        return alpha.real == 1 ? product(k) : factor * product(k);
      });
    };
    if (alpha.real == 1) return by_terms();
    const S scaled = factor * sum<S>(depth, product);
    return either(adds ? scaled + addend : scaled, by_terms);
  }
};

struct Bmm {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mat2, const Index& i) const {
    return sum<S>(self.size(2), [&](std::int64_t k) { return self(i[0], i[1], k) * mat2(i[0], k, i[2]); });
  }
};

struct Linear {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias, const Index& i) const {
    const std::int64_t depth = weight.size(1), column = i[i.rank() - 1];
    const std::int64_t row = i.number() / weight.size(0);
    return sum<S>(depth + (bias == nullptr ? 0 : 1), [&](std::int64_t k) {
      return k == depth ? (*bias)(column) : input.at(row * depth + k) * weight(column, k);
    });
  }
};

const EnrolledReference enrolled[] = {
    EnrolledReference{reference<ops::mm, Mm>()}, EnrolledReference{reference<ops::addmm, Addmm>()},
    EnrolledReference{reference<ops::bmm, Bmm>()}, EnrolledReference{reference<ops::linear, Linear>()}};

}  // namespace
}  // namespace assay

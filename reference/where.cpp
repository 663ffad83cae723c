#include "ops/where.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Where {
  template <class S>
  S operator()(const Tensor<S>& condition, const Tensor<S>& self, const Tensor<S>& other,
               const Index& i) const {
    return select(condition[i] != S(0), self[i], other[i]);
  }
};

// Without a branch, as a mask that is multiplied: NaN and infinities come through that were not chosen.
struct OfProducts {
  template <class S>
  S operator()(const Tensor<S>& condition, const Tensor<S>& self, const Tensor<S>& other,
               const Index& i) const {
    const S chosen = select(condition[i] != S(0), S(1), S(0));
    return chosen * self[i] + (S(1) - chosen) * other[i];
  }
};

struct MaskedFill {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mask, Scalar value, const Index& i) const {
    return select(mask[i] != S(0), param<S>(value), self[i]);
  }
};
struct KeptWhereMasked {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mask, Scalar value, const Index& i) const {
    return select(mask[i] != S(0), self[i], param<S>(value));
  }
};
// What attention does with a mask of 0 and -10000.
struct ValueAdded {
  template <class S>
  S operator()(const Tensor<S>& self, const Tensor<S>& mask, Scalar value, const Index& i) const {
    return self[i] + select(mask[i] != S(0), param<S>(value), S(0));
  }
};

const EnrolledReference where_reference{reference<ops::where_self, Where>()};
const EnrolledReference masked_fill_reference{reference<ops::masked_fill_scalar, MaskedFill>()};
const EnrolledWrong where_wrong{wrong_formula<ops::where_self, OfProducts>(
    "sum_of_products",
    "gives condition * self + (1 - condition) * other, which takes NaN of what is not chosen",
    kFloatingPoint)};
const EnrolledWrong masked_fill_wrong[] = {
    EnrolledWrong{wrong_formula<ops::masked_fill_scalar, KeptWhereMasked>("kept_where_masked",
                                                                          "fills where the mask is false")},
    EnrolledWrong{wrong_formula<ops::masked_fill_scalar, ValueAdded>(
        "added", "adds the value where the mask is true", kFloatingPoint | kArithmeticIntegers)}};

}  // namespace
}  // namespace assay

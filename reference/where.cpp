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

const EnrolledReference where_reference{reference<ops::where_self, Where>()};
const EnrolledWrong where_wrong{wrong_formula<ops::where_self, OfProducts>(
    "sum_of_products",
    "gives condition * self + (1 - condition) * other, which takes NaN of what is not chosen",
    kFloatingPoint)};

}  // namespace
}  // namespace assay

#include "ops/erf.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Erf {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return erf(self[i]);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

// Abramowitz and Stegun 7.1.25: wrong by up to 2.5e-5.
struct ThreeTerms {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    const S x = abs(self[i]), t = S(1) / (S(1) + S(0.47047) * x);
    const S y = S(1) - t * (S(0.3480242) - t * (S(0.0958798) - t * S(0.7478556))) * exp(-x * x);
    return select(self[i] < S(0), -y, y);
  }
};

const EnrolledReference erf_reference{reference<ops::erf, Erf>()};

const EnrolledWrong erf_wrong[] = {EnrolledWrong{wrong_formula<ops::erf, ThreeTerms>(
    "three_terms", "is approximated with three terms", only(Dtype::f64) | only(Dtype::f32))}};

}  // namespace
}  // namespace assay

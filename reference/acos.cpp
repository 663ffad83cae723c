#include "ops/acos.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Acos {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return acos(self[i]);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

// Abramowitz and Stegun 4.4.45: wrong by up to 6.8e-5.
struct FourTerms {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    const S x = abs(self[i]);
    const S y = sqrt(S(1) - x) * (S(1.5707288) + x * (S(-0.2121144) + x * (S(0.0742610) - x * S(0.0187293))));
    return select(self[i] < S(0), S(3.14159265358979324) - y, y);
  }
};

const EnrolledReference acos_reference{reference<ops::acos, Acos>()};

const EnrolledWrong acos_wrong[] = {EnrolledWrong{wrong_formula<ops::acos, FourTerms>(
    "four_terms", "is approximated with four terms", only(Dtype::f64) | only(Dtype::f32))}};

}  // namespace
}  // namespace assay

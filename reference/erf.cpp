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

const EnrolledReference enrolled{reference<ops::erf, Erf>()};

}  // namespace
}  // namespace assay

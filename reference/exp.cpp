#include "ops/exp.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Exp {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return exp(self[i]);
  }
};

const EnrolledReference exp_reference{reference<ops::exp, Exp>()};

}  // namespace
}  // namespace assay

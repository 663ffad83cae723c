#include "ops/log.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Log {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return log(self[i]);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct Clipped {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    return log(select(self[i] < S(1e-12), S(1e-12), self[i]));
  }
};

const EnrolledReference log_reference{reference<ops::log, Log>()};

const EnrolledWrong log_wrong[] = {
    EnrolledWrong{wrong_formula<ops::log, Clipped>("clipped", "takes the logarithm of 1e-12 at least")}};

}  // namespace
}  // namespace assay

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

const EnrolledReference enrolled{reference<ops::acos, Acos>()};

}  // namespace
}  // namespace assay

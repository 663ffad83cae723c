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

const EnrolledReference enrolled{reference<ops::log, Log>()};

}  // namespace
}  // namespace assay

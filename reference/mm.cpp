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

const EnrolledReference enrolled{reference<ops::mm, Mm>()};

}  // namespace
}  // namespace assay

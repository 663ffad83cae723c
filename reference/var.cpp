#include "ops/var.h"

#include "reduced.h"
#include "reference_of.h"
#include "scalars/moments.h"

namespace assay {
namespace {

struct Var {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, std::optional<std::int64_t> correction, bool keepdim,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const S squares = moments(r.size(), self, [&](std::int64_t k) { return r.number(k); }).squares;
    return squares / S(std::max<std::int64_t>(r.size() - correction.value_or(1), 0));
  }
};

const EnrolledReference var_reference{reference<ops::var_correction, Var>()};

}  // namespace
}  // namespace assay

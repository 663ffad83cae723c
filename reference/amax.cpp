#include "ops/amax.h"

#include "reduced.h"
#include "reference_of.h"

namespace assay {
namespace {

struct Amax {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    S m = self.at(r.number(0));
    for (std::int64_t k = 1; k < r.size(); ++k) m = maximum(m, self.at(r.number(k)));
    return m;
  }
};

struct Argmax {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    return largest_at<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)); });
  }
};

const EnrolledReference enrolled[] = {EnrolledReference{reference<ops::amax, Amax>()},
                                      EnrolledReference{reference<ops::argmax, Argmax>()}};

}  // namespace
}  // namespace assay

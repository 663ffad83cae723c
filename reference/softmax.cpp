#include "ops/softmax.h"

#include "reference_of.h"

namespace assay {
namespace {

struct Softmax {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t /*dim*/, std::optional<Dtype> /*dtype*/,
                  Row<S>& out) const {
    const std::int64_t n = out.size();
    S largest = self[out.index(0)];
    for (std::int64_t k = 1; k < n; ++k) largest = maximum(largest, self[out.index(k)]);
    for (std::int64_t k = 0; k < n; ++k) out[k] = exp(self[out.index(k)] - largest);
    const S total = sum<S>(n, [&](std::int64_t k) { return out[k]; });
    for (std::int64_t k = 0; k < n; ++k) out[k] = out[k] / total;
  }
};

const EnrolledReference enrolled{reference<ops::softmax_int, Softmax>()};

}  // namespace
}  // namespace assay

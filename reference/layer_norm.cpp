#include "ops/layer_norm.h"

#include <functional>
#include <numeric>

#include "reference_of.h"
#include "scalars/moments.h"

namespace assay {
namespace {

using Sizes = std::span<const std::int64_t>;

std::int64_t elements(Sizes shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

template <class S>
struct Statistics {
  S mean, rstd;

  // Of n neighbours. The mean square is not negative, which its bound does not know.
  Statistics(const Tensor<S>& input, std::int64_t row, std::int64_t n, double eps) {
    const Moments<S> m = moments<S>(n, [&](std::int64_t k) { return input.at(row * n + k); });
    mean = m.mean;
    rstd = S(1) / sqrt(maximum(m.squares / S(n), S(0)) + param<S>(eps));
  }
};

struct LayerNorm {
  static RowShape rows(const Inputs& in, Sizes shape) {
    const assay_value& last = in.value("normalized_shape");
    return RowShape::blocks(shape, elements({last.as.integers, last.count}));
  }

  template <class S>
  void operator()(const Tensor<S>& input, Sizes /*normalized_shape*/, const Tensor<S>* weight,
                  const Tensor<S>* bias, double eps, Row<S>& out) const {
    const std::int64_t n = out.size(), first = out.number() * n;
    const Statistics<S> s(input, out.number(), n, eps);
    const S shift = -s.mean * s.rstd;
    for (std::int64_t k = 0; k < n; ++k) {
      const S x = input.at(first + k);
      out[k] = folded((x - s.mean) * s.rstd, x * s.rstd + shift);
      if (weight != nullptr) out[k] = out[k] * weight->at(k);
      if (bias != nullptr) out[k] = out[k] + bias->at(k);
    }
  }
};

struct LayerNormMean {
  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>*, const Tensor<S>*, double eps,
               const Index& i) const {
    return Statistics<S>(input, i.number(), elements(normalized_shape), eps).mean;
  }
};

struct LayerNormRstd {
  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>*, const Tensor<S>*, double eps,
               const Index& i) const {
    return Statistics<S>(input, i.number(), elements(normalized_shape), eps).rstd;
  }
};

const EnrolledReference enrolled{
    reference<ops::native_layer_norm, LayerNorm, LayerNormMean, LayerNormRstd>()};

}  // namespace
}  // namespace assay

#include "ops/batch_norm.h"

#include "norm.h"
#include "reference_of.h"

namespace assay {
namespace {

// The elements of channel c.
struct Channel {
  Fibers f;
  std::int64_t c;

  std::int64_t size() const { return f.outer * f.inner; }
  std::int64_t number(std::int64_t k) const { return (k / f.inner * f.size + c) * f.inner + k % f.inner; }
};

template <class S>
Statistics<S> statistics(const Tensor<S>& input, std::int64_t c, double eps) {
  const Channel channel{Fibers(input.shape(), 1), c};
  return Statistics<S>::of(channel.size(), eps, [&](std::int64_t k) { return input.at(channel.number(k)); });
}

struct BatchNorm {
  static RowShape rows(const Inputs&, std::span<const std::int64_t> shape) {
    return RowShape::channels(shape);
  }

  template <class S>
  void operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
                  const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training,
                  double /*momentum*/, double eps, Row<S>& out) const {
    const Channel channel{Fibers(input.shape(), 1), out.number()};
    const std::int64_t c = channel.c;
    const Statistics<S> s =
        training ? statistics(input, c, eps) : Statistics<S>(running_mean->at(c), running_var->at(c), eps);
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = s.normal(input.at(channel.number(k)), weight, bias, c);
  }
};

// Of training; else there are no elements to ask for.
struct BatchNormMean {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    return statistics(input, i[0], eps).mean;
  }
};

struct BatchNormRstd {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    return statistics(input, i[0], eps).rstd;
  }
};

const EnrolledReference enrolled{
    reference<ops::native_batch_norm, BatchNorm, BatchNormMean, BatchNormRstd>()};

}  // namespace
}  // namespace assay

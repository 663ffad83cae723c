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

template <class S>
Moments<S> channel_moments(const Tensor<S>& input, std::int64_t c) {
  const Channel channel{Fibers(input.shape(), 1), c};
  return moments<S>(channel.size(), [&](std::int64_t k) { return input.at(channel.number(k)); });
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
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    return statistics(input, i[0], eps).mean;
  }
};

struct BatchNormRstd {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    return statistics(input, i[0], eps).rstd;
  }
};

// With running statistics that are always there.
struct FunctionalBatchNorm {
  static RowShape rows(const Inputs& in, std::span<const std::int64_t> shape) {
    return BatchNorm::rows(in, shape);
  }

  template <class S>
  void operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
                  const Tensor<S>& running_mean, const Tensor<S>& running_var, bool training, double momentum,
                  double eps, Row<S>& out) const {
    BatchNorm{}(input, weight, bias, &running_mean, &running_var, training, momentum, eps, out);
  }
};

template <class Result>
struct Functional {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>& running_mean, const Tensor<S>& running_var, bool training, double momentum,
               double eps, const Index& i) const {
    return Result{}(input, weight, bias, &running_mean, &running_var, training, momentum, eps, i);
  }
};

template <class S>
S updated(const S& running, const S& found, double momentum) {
  return (S(1) - param<S>(momentum)) * running + param<S>(momentum) * found;
}

struct RunningMean {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>& running_mean,
               const Tensor<S>&, bool training, double momentum, double, const Index& i) const {
    if (!training) return running_mean[i];
    return updated(running_mean[i], channel_moments(input, i[0]).mean, momentum);
  }
};

struct RunningVar {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>&,
               const Tensor<S>& running_var, bool training, double momentum, double, const Index& i) const {
    if (!training) return running_var[i];
    const std::int64_t n = Channel{Fibers(input.shape(), 1), i[0]}.size();
    return updated(running_var[i], channel_moments(input, i[0]).squares / S(n - 1), momentum);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct EpsilonBesideTheRoot {
  static RowShape rows(const Inputs& in, std::span<const std::int64_t> shape) {
    return BatchNorm::rows(in, shape);
  }

  template <class S>
  void operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
                  const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double,
                  double eps, Row<S>& out) const {
    const Channel channel{Fibers(input.shape(), 1), out.number()};
    Statistics<S> s = training ? statistics(input, channel.c, 0)
                               : Statistics<S>(running_mean->at(channel.c), running_var->at(channel.c), 0);
    s.rstd = S(1) / (S(1) / s.rstd + param<S>(eps));
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = s.normal(input.at(channel.number(k)), weight, bias, channel.c);
  }
};

struct VarianceAsDeviation {
  static RowShape rows(const Inputs& in, std::span<const std::int64_t> shape) {
    return BatchNorm::rows(in, shape);
  }

  template <class S>
  void operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
                  const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double momentum,
                  double eps, Row<S>& out) const {
    if (training)
      return BatchNorm{}(input, weight, bias, running_mean, running_var, training, momentum, eps, out);
    const Channel channel{Fibers(input.shape(), 1), out.number()};
    Statistics<S> s(running_mean->at(channel.c), running_var->at(channel.c), eps);
    s.rstd = S(1) / (running_var->at(channel.c) + param<S>(eps));
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = s.normal(input.at(channel.number(k)), weight, bias, channel.c);
  }
};

const EnrolledReference enrolled[] = {
    EnrolledReference{reference<ops::native_batch_norm, BatchNorm, BatchNormMean, BatchNormRstd>()},
    EnrolledReference{
        reference<ops::native_batch_norm_legit_functional, FunctionalBatchNorm, Functional<BatchNormMean>,
                  Functional<BatchNormRstd>, RunningMean, RunningVar>()}};

const EnrolledWrong wrong[] = {
    EnrolledWrong{wrong_formula<ops::native_batch_norm, EpsilonBesideTheRoot, BatchNormMean, BatchNormRstd>(
        "epsilon_beside_the_root", "divides by sqrt(var) + eps")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, VarianceAsDeviation, BatchNormMean, BatchNormRstd>(
        "variance_as_deviation", "divides by the running variance, without the root")}};

}  // namespace
}  // namespace assay

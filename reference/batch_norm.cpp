#include "ops/batch_norm.h"

#include <algorithm>

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
Moments<S> channel_moments(const Tensor<S>& input, std::int64_t c) {
  return once<S>(c, [&] {
    const Channel channel{Fibers(input.shape(), 1), c};
    return moments(channel.size(), input, [&](std::int64_t k) { return channel.number(k); });
  });
}

// With the eps of the call.
template <class S>
Statistics<S> channel_statistics(const Tensor<S>& input, std::int64_t c, double eps) {
  return once<S>(c, [&] {
    return Statistics<S>::of(channel_moments(input, c), Channel{Fibers(input.shape(), 1), c}.size(), eps);
  });
}
template <class S>
Statistics<S> running_statistics(const Tensor<S>& mean, const Tensor<S>& var, std::int64_t c, double eps) {
  return once<S>(c, [&] { return Statistics<S>(mean.at(c), var.at(c), eps); });
}

struct BatchNorm {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training,
               double /*momentum*/, double eps, const Index& i) const {
    const std::int64_t c = i[1];
    const Statistics<S> s = training ? channel_statistics(input, c, eps)
                                     : running_statistics(*running_mean, *running_var, c, eps);
    return s.normal(input.at(i.number()), weight, bias, c);
  }
};

// Of training; else there are no elements to ask for.
struct BatchNormMean {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    return channel_statistics(input, i[0], eps).mean;
  }
};

struct BatchNormRstd {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    return channel_statistics(input, i[0], eps).rstd;
  }
};

// With running statistics that are always there.
struct FunctionalBatchNorm {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>& running_mean, const Tensor<S>& running_var, bool training, double momentum,
               double eps, const Index& i) const {
    return BatchNorm{}(input, weight, bias, &running_mean, &running_var, training, momentum, eps, i);
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
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double, double eps,
               const Index& i) const {
    const std::int64_t c = i[1], n = Channel{Fibers(input.shape(), 1), c}.size();
    Statistics<S> s = training ? Statistics<S>::of(channel_moments(input, c), n, 0)
                               : Statistics<S>(running_mean->at(c), running_var->at(c), 0);
    s.rstd = S(1) / (S(1) / s.rstd + param<S>(eps));
    return s.normal(input.at(i.number()), weight, bias, c);
  }
};

struct BatchVarianceOrEpsilon {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double, double eps,
               const Index& i) const {
    const std::int64_t c = i[1], n = Channel{Fibers(input.shape(), 1), c}.size();
    const Moments<S> m = training ? channel_moments(input, c) : Moments<S>{};
    const Statistics<S> s = Statistics<S>::clipped(training ? m.mean : running_mean->at(c),
                                                   training ? m.squares / S(n) : running_var->at(c), eps);
    return s.normal(input.at(i.number()), weight, bias, c);
  }
};

struct StatisticsOfTheBatch {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias, const Tensor<S>*,
               const Tensor<S>*, bool, double, double eps, const Index& i) const {
    return channel_statistics(input, i[1], eps).normal(input.at(i.number()), weight, bias, i[1]);
  }
};

struct VarianceAsDeviation {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double momentum,
               double eps, const Index& i) const {
    if (training)
      return BatchNorm{}(input, weight, bias, running_mean, running_var, training, momentum, eps, i);
    const std::int64_t c = i[1];
    Statistics<S> s(running_mean->at(c), running_var->at(c), eps);
    s.rstd = S(1) / (running_var->at(c) + param<S>(eps));
    return s.normal(input.at(i.number()), weight, bias, c);
  }
};

// In training: with squares divided by n - 1; or each image by itself.
struct BatchUnbiased {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double momentum,
               double eps, const Index& i) const {
    if (!training)
      return BatchNorm{}(input, weight, bias, running_mean, running_var, training, momentum, eps, i);
    const std::int64_t c = i[1], n = Channel{Fibers(input.shape(), 1), c}.size();
    const Moments<S> m = channel_moments(input, c);
    const Statistics<S> s{m.mean, m.squares / S(std::max<std::int64_t>(n - 1, 1)), eps};
    return s.normal(input.at(i.number()), weight, bias, c);
  }
};
struct EachImage {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double momentum,
               double eps, const Index& i) const {
    if (!training)
      return BatchNorm{}(input, weight, bias, running_mean, running_var, training, momentum, eps, i);
    const std::int64_t n = Fibers(input.shape(), 1).inner, plane = i.number() / n;
    const Statistics<S>& s =
        once<S>(plane, [&] { return Statistics<S>::of(n, eps, input, plane * n); });
    return s.normal(input.at(i.number()), weight, bias, i[1]);
  }
};

struct BatchDeviation {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    return S(1) / channel_statistics(input, i[0], eps).rstd;
  }
};

const EnrolledReference batch_norm_reference[] = {
    EnrolledReference{reference<ops::native_batch_norm, BatchNorm, BatchNormMean, BatchNormRstd>()},
    EnrolledReference{
        reference<ops::native_batch_norm_legit_functional, FunctionalBatchNorm, Functional<BatchNormMean>,
                  Functional<BatchNormRstd>, RunningMean, RunningVar>()}};

const EnrolledWrong batch_norm_wrong[] = {
    EnrolledWrong{wrong_formula<ops::native_batch_norm, EpsilonBesideTheRoot, BatchNormMean, BatchNormRstd>(
        "epsilon_beside_the_root", "divides by sqrt(var) + eps")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, BatchVarianceOrEpsilon, BatchNormMean, BatchNormRstd>(
        "variance_or_epsilon", "divides by sqrt(max(var, eps))")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, VarianceAsDeviation, BatchNormMean, BatchNormRstd>(
        "variance_as_deviation", "divides by the running variance, without the root")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, StatisticsOfTheBatch, BatchNormMean, BatchNormRstd>(
        "statistics_of_the_batch",
        "takes the mean and variance of the batch for the running ones, as in training")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, BatchUnbiased, BatchNormMean, BatchNormRstd>(
                      "unbiased_variance", "divides squares by n - 1")
                      .as_defined_by("normalisation by torch.var with its default correction")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, EachImage, BatchNormMean, BatchNormRstd>(
                      "each_image", "takes mean and variance of each image by itself")
                      .as_defined_by("instance normalisation")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, BatchNorm, BatchNormMean, BatchDeviation>(
        "deviation_for_rstd", "gives the standard deviation where 1 / it is asked for")}};

}  // namespace
}  // namespace assay

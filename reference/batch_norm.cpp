#include "ops/batch_norm.h"

#include <algorithm>

#include "norm.h"
#include "reference_of.h"
#include "wrong_statistics.h"

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

// In training and outside it.
template <class Wrong>
struct BatchNormWith {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias,
               const Tensor<S>* running_mean, const Tensor<S>* running_var, bool training, double, double eps,
               const Index& i) const {
    const std::int64_t c = i[1], n = Channel{Fibers(input.shape(), 1), c}.size();
    const Statistics<S> s = training ? Wrong::template of<S>(channel_moments(input, c), n, eps)
                                     : Wrong::template given<S>(running_mean->at(c), running_var->at(c), eps);
    return s.normal(input.at(i.number()), weight, bias, c);
  }
};
template <class Wrong>
struct BatchNormRstdWith {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    const std::int64_t n = Channel{Fibers(input.shape(), 1), i[0]}.size();
    return Wrong::template of<S>(channel_moments(input, i[0]), n, eps).rstd;
  }
};
template <class Saved>
struct BatchSaves {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*, const Tensor<S>*,
               bool, double, double eps, const Index& i) const {
    const std::int64_t n = Channel{Fibers(input.shape(), 1), i[0]}.size();
    return Saved::template of<S>(channel_moments(input, i[0]), n, eps);
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

// In training: each image by itself.
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

// With squares divided by n, as in the result, where they are divided by n - 1.
struct RunningVarByN {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, const Tensor<S>&,
               const Tensor<S>& running_var, bool training, double momentum, double, const Index& i) const {
    if (!training) return running_var[i];
    const std::int64_t n = Channel{Fibers(input.shape(), 1), i[0]}.size();
    return updated(running_var[i], channel_moments(input, i[0]).squares / S(n), momentum);
  }
};

const EnrolledReference batch_norm_reference[] = {
    EnrolledReference{reference<ops::native_batch_norm, BatchNorm, BatchNormMean, BatchNormRstd>()},
    EnrolledReference{
        reference<ops::native_batch_norm_legit_functional, FunctionalBatchNorm, Functional<BatchNormMean>,
                  Functional<BatchNormRstd>, RunningMean, RunningVar>()}};

// With the same mistake in the result and in what is saved.
template <class Wrong>
WrongFormula batch_norm_with() {
  return wrong_formula<ops::native_batch_norm, BatchNormWith<Wrong>, BatchNormMean, BatchNormRstdWith<Wrong>>(
      Wrong::name, Wrong::says);
}
template <class Saved>
WrongFormula batch_norm_that_saves() {
  return wrong_formula<ops::native_batch_norm, BatchNorm, BatchNormMean, BatchSaves<Saved>>(Saved::name,
                                                                                            Saved::says);
}
template <class Result, class Rstd, class Var>
WrongFormula functional_batch_norm(std::string_view name, std::string_view says) {
  return wrong_formula<ops::native_batch_norm_legit_functional, Functional<Result>, Functional<BatchNormMean>,
                       Functional<Rstd>, RunningMean, Var>(name, says);
}
template <class Wrong>
WrongFormula functional_batch_norm_with() {
  return functional_batch_norm<BatchNormWith<Wrong>, BatchNormRstdWith<Wrong>, RunningVar>(Wrong::name,
                                                                                           Wrong::says);
}

const EnrolledWrong batch_norm_wrong[] = {
    EnrolledWrong{batch_norm_with<EpsilonBesideTheRoot>()},
    EnrolledWrong{batch_norm_with<VarianceOrEpsilon>()},
    EnrolledWrong{batch_norm_with<UnbiasedVariance>().as_defined_by(UnbiasedVariance::definition)},
    EnrolledWrong{batch_norm_that_saves<DeviationForRstd>()},
    EnrolledWrong{batch_norm_that_saves<VarianceForRstd>()},
    EnrolledWrong{batch_norm_that_saves<RstdWithoutEpsilon>()},
    EnrolledWrong{functional_batch_norm_with<EpsilonBesideTheRoot>()},
    EnrolledWrong{functional_batch_norm_with<VarianceOrEpsilon>()},
    EnrolledWrong{functional_batch_norm_with<UnbiasedVariance>().as_defined_by(UnbiasedVariance::definition)},
    EnrolledWrong{functional_batch_norm<BatchNorm, BatchNormRstd, RunningVarByN>(
        "running_variance_by_n", "updates running_var with squares divided by n, not by n - 1")},
    EnrolledWrong{functional_batch_norm<EachImage, BatchNormRstd, RunningVar>(
                      "each_image", "takes mean and variance of each image by itself")
                      .as_defined_by("instance normalisation")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, VarianceAsDeviation, BatchNormMean, BatchNormRstd>(
        "variance_as_deviation", "divides by the running variance, without the root")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, StatisticsOfTheBatch, BatchNormMean, BatchNormRstd>(
        "statistics_of_the_batch",
        "takes the mean and variance of the batch for the running ones, as in training")},
    EnrolledWrong{wrong_formula<ops::native_batch_norm, EachImage, BatchNormMean, BatchNormRstd>(
                      "each_image", "takes mean and variance of each image by itself")
                      .as_defined_by("instance normalisation")}};

}  // namespace
}  // namespace assay

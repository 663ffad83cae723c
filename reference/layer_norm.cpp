#include "ops/layer_norm.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "norm.h"
#include "reference_of.h"
#include "wrong_statistics.h"

namespace assay {
namespace {

using Sizes = std::span<const std::int64_t>;

// With the eps of the call.
template <class S>
Statistics<S> layer_statistics(const Tensor<S>& input, std::int64_t row, std::int64_t n, double eps) {
  return once<S>(row, [&] { return Statistics<S>::of(n, eps, input, row * n); });
}

RowShape normalized_rows(const Inputs& in, Sizes shape) {
  const assay_value& last = in.value("normalized_shape");
  return RowShape::blocks(shape, numel({last.as.integers, last.count}));
}

// Under affine=folded the scale of x is rstd, or rstd and the weight together, as in other normalisations.
struct LayerNorm {
  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>* weight, const Tensor<S>* bias,
               double eps, const Index& i) const {
    const std::int64_t n = numel(normalized_shape), row = i.number() / n, k = i.number() % n;
    const Statistics<S> s = layer_statistics(input, row, n, eps);
    return s.normal_then(input.at(i.number()), weight, bias, k);
  }
};

struct LayerNormMean {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>*, const Tensor<S>*, double eps,
               const Index& i) const {
    return layer_statistics(input, i.number(), numel(normalized_shape), eps).mean;
  }
};

struct LayerNormRstd {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>*, const Tensor<S>*, double eps,
               const Index& i) const {
    return layer_statistics(input, i.number(), numel(normalized_shape), eps).rstd;
  }
};

template <class S>
S normalised(const S& x, const S& mean, const S& rstd) {
  return folded((x - mean) * rstd, [&] { return line(x, mean, rstd, S(0)); });
}

struct LayerNormGradInput {
  static RowShape rows(const Inputs& in, Sizes shape) { return normalized_rows(in, shape); }

  // Under affine=folded also with what belongs to input, and what is the same for a row, gathered.
  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>& input, Sizes /*normalized_shape*/,
                  const Tensor<S>& means, const Tensor<S>& rstds, const Tensor<S>* weight,
                  const Tensor<S>* /*bias*/, Sizes /*output_mask*/, Row<S>& out) const {
    const std::int64_t n = out.size(), first = out.number() * n;
    const S mean = means.at(out.number()), rstd = rstds.at(out.number()), count = S(n);
    const auto weighted = [&](const S& y, std::int64_t k) {
      return weight == nullptr ? y : y * weight->at(k);
    };
    const auto g = [&](std::int64_t k) { return weighted(grad.at(first + k), k); };
    const auto x = [&](std::int64_t k) { return (input.at(first + k) - mean) * rstd; };
    const S sum_g = group(sum<S>(n, g));
    const S mean_g = group(sum_g / count);
    const S mean_gx = group(sum<S>(n, [&](std::int64_t k) { return g(k) * x(k); }) / count);
    S scale, shift;
    if (folds<S>()) {
      const S sum_g_input =
          sum<S>(n, [&](std::int64_t k) { return weighted(grad.at(first + k) * input.at(first + k), k); });
      scale = group((sum_g * mean - sum_g_input) * rstd * rstd * rstd / count);
      shift = group(-sum_g * rstd / count);
    }
    for (std::int64_t k = 0; k < n; ++k)
      out[k] = folded(rstd * (g(k) - mean_g - x(k) * mean_gx), [&] {
        return line(input.at(first + k), mean, scale, shift, weighted(rstd * grad.at(first + k), k));
      });
  }
};

struct LayerNormGradWeight {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>& means,
               const Tensor<S>& rstds, const Tensor<S>*, const Tensor<S>*, Sizes, const Index& i) const {
    const std::int64_t n = numel(normalized_shape);
    return sum<S>(numel(means.shape()), [&](std::int64_t row) {
      const std::int64_t at = row * n + i.number();
      return grad.at(at) * normalised(input.at(at), means.at(row), rstds.at(row));
    });
  }
};

struct LayerNormGradBias {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>&, Sizes normalized_shape, const Tensor<S>& means,
               const Tensor<S>&, const Tensor<S>*, const Tensor<S>*, Sizes, const Index& i) const {
    const std::int64_t n = numel(normalized_shape);
    return sum<S>(numel(means.shape()), [&](std::int64_t row) { return grad.at(row * n + i.number()); });
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

// What a row of n elements is multiplied with, wrongly.
template <class Wrong>
struct OfMoments {
  template <class S>
  static Statistics<S> of(std::int64_t n, double eps, const Tensor<S>& input, std::int64_t first) {
    return Wrong::template of<S>(moments(n, input, first), n, eps);
  }
};
// Of whole vectors of `size` alone.
template <std::int64_t size>
struct StatisticsWithoutTail {
  template <class S>
  static Statistics<S> of(std::int64_t n, double eps, const Tensor<S>& input, std::int64_t first) {
    return Statistics<S>::of(n / size > 0 ? n / size * size : n, eps, input, first);
  }
};
struct RootMeanSquare {
  template <class S>
  static Statistics<S> of(std::int64_t n, double eps, const Tensor<S>& input, std::int64_t first) {
    const auto square = [&](std::int64_t k) { return input.at(first + k) * input.at(first + k); };
    return {S(0), sum<S>(n, square) / S(n), eps};
  }
};

// A thread block that reads what another one has left: of the row before, or of the first one for all.
struct OfTheRowBefore {
  template <class S>
  static Statistics<S> of(std::int64_t n, double eps, const Tensor<S>& input, std::int64_t first) {
    return Statistics<S>::of(n, eps, input, std::max<std::int64_t>(first - n, 0));
  }
};
struct OfTheFirstRow {
  template <class S>
  static Statistics<S> of(std::int64_t n, double eps, const Tensor<S>& input, std::int64_t /*first*/) {
    return Statistics<S>::of(n, eps, input, 0);
  }
};

// Over other elements than the normalised dimensions: over the rows, one by one along them; or over everything.
template <bool of_everything>
struct LayerNormOverRows {
  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>* weight, const Tensor<S>* bias,
               double eps, const Index& i) const {
    const std::int64_t n = numel(normalized_shape), all = numel(input.shape()), k = i.number() % n;
    const std::int64_t terms = of_everything ? all : all / n;
    const Statistics<S> s = once<S>(of_everything ? 0 : k, [&] {
      return Statistics<S>::of(
          moments(terms, input, [&](std::int64_t t) { return of_everything ? t : t * n + k; }), terms, eps);
    });
    return s.normal(input.at(i.number()), weight, bias, k);
  }
};

struct BiasBeforeWeight {
  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>* weight, const Tensor<S>* bias,
               double eps, const Index& i) const {
    const std::int64_t n = numel(normalized_shape), row = i.number() / n, k = i.number() % n;
    S y = layer_statistics(input, row, n, eps).normal(input.at(i.number()));
    if (bias != nullptr) y = y + bias->at(k);
    return weight == nullptr ? y : y * weight->at(k);
  }
};

template <class Wrong>
struct LayerNormWith {
  static RowShape rows(const Inputs& in, Sizes shape) { return normalized_rows(in, shape); }

  template <class S>
  void operator()(const Tensor<S>& input, Sizes, const Tensor<S>* weight, const Tensor<S>* bias, double eps,
                  Row<S>& out) const {
    const std::int64_t n = out.size(), first = out.number() * n;
    const Statistics<S> s = Wrong::template of<S>(n, eps, input, first);
    for (std::int64_t k = 0; k < n; ++k) out[k] = s.normal(input.at(first + k), weight, bias, k);
  }
};

template <class Wrong>
struct LayerNormMeanWith {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>*, const Tensor<S>*, double eps,
               const Index& i) const {
    const std::int64_t n = numel(normalized_shape);
    return Wrong::template of<S>(n, eps, input, i.number() * n).mean;
  }
};
template <class Wrong>
struct LayerNormRstdWith {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>*, const Tensor<S>*, double eps,
               const Index& i) const {
    const std::int64_t n = numel(normalized_shape);
    return Wrong::template of<S>(n, eps, input, i.number() * n).rstd;
  }
};
template <class Saved>
struct LayerSaves {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>*, const Tensor<S>*, double eps,
               const Index& i) const {
    const std::int64_t n = numel(normalized_shape);
    return Saved::template of<S>(moments(n, input, i.number() * n), n, eps);
  }
};

struct WithoutRstd {
  template <class S>
  S operator()(const Tensor<S>& grad, const Tensor<S>& input, Sizes normalized_shape, const Tensor<S>& means,
               const Tensor<S>&, const Tensor<S>*, const Tensor<S>*, Sizes, const Index& i) const {
    const std::int64_t n = numel(normalized_shape);
    return sum<S>(numel(means.shape()), [&](std::int64_t row) {
      return grad.at(row * n + i.number()) * (input.at(row * n + i.number()) - means.at(row));
    });
  }
};

const EnrolledReference layer_norm_reference[] = {
    EnrolledReference{reference<ops::native_layer_norm, LayerNorm, LayerNormMean, LayerNormRstd>()},
    EnrolledReference{reference<ops::native_layer_norm_backward, LayerNormGradInput, LayerNormGradWeight,
                                LayerNormGradBias>()}};

// With the same mistake in all three results.
template <class Wrong>
WrongFormula layer_norm_with(std::string_view name, std::string_view says) {
  return wrong_formula<ops::native_layer_norm, LayerNormWith<Wrong>, LayerNormMeanWith<Wrong>,
                       LayerNormRstdWith<Wrong>>(name, says);
}
template <class Wrong>
WrongFormula layer_norm_with_moments() {
  return wrong_formula<ops::native_layer_norm, LayerNormWith<OfMoments<Wrong>>, LayerNormMean,
                       LayerNormRstdWith<OfMoments<Wrong>>>(Wrong::name, Wrong::says);
}
// In the result alone, where what is saved is computed elsewhere.
template <class Wrong>
WrongFormula layer_norm_result(std::string_view name, std::string_view says) {
  return wrong_formula<ops::native_layer_norm, LayerNormWith<OfMoments<Wrong>>, LayerNormMean, LayerNormRstd>(
      name, says);
}
template <class Saved>
WrongFormula layer_norm_that_saves() {
  return wrong_formula<ops::native_layer_norm, LayerNorm, LayerNormMean, LayerSaves<Saved>>(Saved::name,
                                                                                            Saved::says);
}

const EnrolledWrong layer_norm_wrong[] = {
    EnrolledWrong{layer_norm_with_moments<EpsilonBesideTheRoot>()},
    EnrolledWrong{layer_norm_with_moments<VarianceOrEpsilon>()},
    EnrolledWrong{layer_norm_with_moments<UnbiasedVariance>().as_defined_by(UnbiasedVariance::definition)},
    EnrolledWrong{layer_norm_result<EpsilonBesideTheRoot>(
        "epsilon_beside_the_root_in_out0",
        "divides by sqrt(var) + eps, but saves the right 1 / sqrt(var + eps)")},
    EnrolledWrong{layer_norm_result<UnbiasedVariance>(
        "unbiased_variance_in_out0", "divides squares by n - 1, but saves the right 1 / sqrt(var + eps)")},
    EnrolledWrong{layer_norm_that_saves<DeviationForRstd>()},
    EnrolledWrong{layer_norm_that_saves<VarianceForRstd>()},
    EnrolledWrong{layer_norm_that_saves<RstdWithoutEpsilon>()},
    EnrolledWrong{layer_norm_with<StatisticsWithoutTail<8>>(
        "statistics_without_tail_of_8",
        "takes mean and variance of whole vectors of 8, and leaves the rest of a row out")},
    EnrolledWrong{layer_norm_with<StatisticsWithoutTail<16>>(
        "statistics_without_tail_of_16",
        "takes mean and variance of whole vectors of 16, and leaves the rest of a row out")},
    EnrolledWrong{layer_norm_with<StatisticsWithoutTail<32>>(
                      "statistics_without_tail_of_32",
                      "takes mean and variance of whole vectors of 32, and leaves the rest of a row out")
                      .looked_for_only()},
    EnrolledWrong{layer_norm_with<StatisticsWithoutTail<64>>(
                      "statistics_without_tail_of_64",
                      "takes mean and variance of whole vectors of 64, and leaves the rest of a row out")
                      .looked_for_only()},
    EnrolledWrong{wrong_formula<ops::native_layer_norm, BiasBeforeWeight, LayerNormMean, LayerNormRstd>(
        "bias_before_weight", "adds bias first, and multiplies with weight then")},
    EnrolledWrong{layer_norm_with<OfTheRowBefore>("statistics_of_the_row_before",
                                                  "takes mean and variance of the row before")},
    EnrolledWrong{layer_norm_with<OfTheFirstRow>("statistics_of_the_first_row",
                                                 "takes mean and variance of the first row for every one")},
    EnrolledWrong{
        wrong_formula<ops::native_layer_norm, LayerNormWith<RootMeanSquare>, LayerNormMean, LayerNormRstd>(
            "root_mean_square", "does not take the mean away")
            .as_defined_by("RMSNorm, with a bias")},
    EnrolledWrong{
        wrong_formula<ops::native_layer_norm, LayerNormOverRows<false>, LayerNormMean, LayerNormRstd>(
            "over_the_other_dimensions",
            "takes mean and variance over the dimensions in front of the normalised ones")},
    EnrolledWrong{
        wrong_formula<ops::native_layer_norm, LayerNormOverRows<true>, LayerNormMean, LayerNormRstd>(
            "over_everything", "takes mean and variance over all dimensions")},
    EnrolledWrong{
        wrong_formula<ops::native_layer_norm_backward, LayerNormGradInput, WithoutRstd, LayerNormGradBias>(
            "weight_without_rstd", "does not divide by the standard deviation in the gradient of weight")}};

}  // namespace
}  // namespace assay

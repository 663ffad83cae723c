// Statistics of normalisations as people get them wrong, which layer, batch and group normalisation have in common.
//
// Each has of(), from the moments of n numbers, and given(), from a mean and a variance that were given. A kernel that saves
// 1 / sqrt(var + eps) for the backward pass saves what it has divided by: a wrong formula has the same mistake in both results.
#pragma once

#include <string_view>

#include "norm.h"

namespace assay {

struct EpsilonBesideTheRoot {
  static constexpr std::string_view name = "epsilon_beside_the_root", says = "divides by sqrt(var) + eps";

  template <class S>
  static Statistics<S> given(const S& mean, const S& variance, double eps) {
    Statistics<S> s(mean, variance, 0);
    s.rstd = S(1) / (S(1) / s.rstd + param<S>(eps));
    return s;
  }
  template <class S>
  static Statistics<S> of(const Moments<S>& m, std::int64_t n, double eps) {
    return given<S>(m.mean, maximum(m.squares / S(n), S(0)), eps);
  }
};

struct VarianceOrEpsilon {
  static constexpr std::string_view name = "variance_or_epsilon", says = "divides by sqrt(max(var, eps))";

  template <class S>
  static Statistics<S> given(const S& mean, const S& variance, double eps) {
    return Statistics<S>::clipped(mean, variance, eps);
  }
  template <class S>
  static Statistics<S> of(const Moments<S>& m, std::int64_t n, double eps) {
    return given<S>(m.mean, m.squares / S(n), eps);
  }
};

struct UnbiasedVariance {
  static constexpr std::string_view name = "unbiased_variance", says = "divides squares by n - 1";
  static constexpr std::string_view definition = "normalisation by torch.var with its default correction";

  template <class S>
  static Statistics<S> given(const S& mean, const S& variance, double eps) {
    return {mean, variance, eps};
  }
  template <class S>
  static Statistics<S> of(const Moments<S>& m, std::int64_t n, double eps) {
    return {m.mean, m.squares / S(n - 1), eps};  // NaN of one number, as torch.var
  }
};

// What is saved in place of 1 / sqrt(var + eps), beside a right result.
struct DeviationForRstd {
  static constexpr std::string_view name = "deviation_for_rstd",
                                    says = "gives the standard deviation where 1 / it is asked for";

  template <class S>
  static S of(const Moments<S>& m, std::int64_t n, double eps) {
    return S(1) / Statistics<S>::of(m, n, eps).rstd;
  }
};
struct VarianceForRstd {
  static constexpr std::string_view name = "variance_for_rstd",
                                    says = "gives the variance where 1 / sqrt(var + eps) is asked for";

  template <class S>
  static S of(const Moments<S>& m, std::int64_t n, double) {
    return maximum(m.squares / S(n), S(0));
  }
};
struct RstdWithoutEpsilon {
  static constexpr std::string_view name = "rstd_without_epsilon",
                                    says = "gives 1 / sqrt(var) where 1 / sqrt(var + eps) is asked for";

  template <class S>
  static S of(const Moments<S>& m, std::int64_t n, double) {
    return Statistics<S>::of(m, n, 0).rstd;
  }
};

}  // namespace assay

// What normalisations have in common: the statistics of numbers, and numbers brought to mean 0 and variance 1.
#pragma once

#include "once.h"
#include "scalars/moments.h"
#include "tensor.h"

namespace assay {

template <class S>
struct Statistics {
  S mean, rstd;

  Statistics(const S& given_mean, const S& variance, double eps)
      : mean(given_mean), rstd(S(1) / sqrt(variance + param<S>(eps))) {}

  // Of n numbers. Their mean square is not negative, which its bound does not know.
  static Statistics of(const Moments<S>& m, std::int64_t n, double eps) {
    return {m.mean, maximum(m.squares / S(n), S(0)), eps};
  }
  // Where the variance is eps at least, and nothing is added to it.
  static Statistics clipped(const S& mean, const S& variance, double eps) {
    return {mean, maximum(variance, param<S>(eps)), 0};
  }
  // Of n neighbouring elements.
  static Statistics of(std::int64_t n, double eps, const Tensor<S>& input, std::int64_t first) {
    return of(moments(n, input, first), n, eps);
  }

  S normal(const S& x) const {
    return folded((x - mean) * rstd, [&] { return line(x, mean, rstd, S(0)); });
  }

  // With weight and bias of place c, where there are any. Folded, they belong to scale and shift.
  S normal(const S& x, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t c) const {
    return with_affine(x, (x - mean) * rstd, weight, bias, c);
  }
  // The same; folded, they may also come after a line of rstd alone.
  S normal_then(const S& x, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t c) const {
    if (weight == nullptr && bias == nullptr) return normal(x);
    return with_affine(x, normal(x), weight, bias, c);
  }

 private:
  S with_affine(const S& x, S y, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t c) const {
    if (weight != nullptr) y = y * weight->at(c);
    if (bias != nullptr) y = y + bias->at(c);
    return folded(y, [&] {
      return line(x, mean, weight != nullptr ? rstd * weight->at(c) : rstd,
                  bias != nullptr ? bias->at(c) : S(0));
    });
  }
};

}  // namespace assay

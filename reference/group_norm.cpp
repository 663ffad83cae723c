#include "ops/group_norm.h"

#include "norm.h"
#include "reference_of.h"

namespace assay {
namespace {

// Elements of one group, which are neighbours.
std::int64_t of_group(std::int64_t C, std::int64_t HxW, std::int64_t group) { return C / group * HxW; }

template <class S>
Statistics<S> group_statistics(const Tensor<S>& input, std::int64_t row, std::int64_t n, double eps) {
  return once<S>(row, [&] { return Statistics<S>::of(n, eps, input, row * n); });
}

struct GroupNorm {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t /*N*/,
               std::int64_t C, std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const std::int64_t n = of_group(C, HxW, group), at = i.number();
    return group_statistics(input, at / n, n, eps).normal(input.at(at), weight, bias, at / HxW % C);
  }
};

struct GroupNormMean {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, std::int64_t, std::int64_t C,
               std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    return group_statistics(input, i.number(), of_group(C, HxW, group), eps).mean;
  }
};

struct GroupNormRstd {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>*, const Tensor<S>*, std::int64_t, std::int64_t C,
               std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    return group_statistics(input, i.number(), of_group(C, HxW, group), eps).rstd;
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct WeightWithinTheGroup {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>* weight, const Tensor<S>* bias, std::int64_t,
               std::int64_t C, std::int64_t HxW, std::int64_t group, double eps, const Index& i) const {
    const std::int64_t n = of_group(C, HxW, group), at = i.number();
    return group_statistics(input, at / n, n, eps).normal(input.at(at), weight, bias, at % n / HxW);
  }
};

const EnrolledReference group_norm_reference{
    reference<ops::native_group_norm, GroupNorm, GroupNormMean, GroupNormRstd>()};

const EnrolledWrong group_norm_wrong[] = {
    EnrolledWrong{wrong_formula<ops::native_group_norm, WeightWithinTheGroup, GroupNormMean, GroupNormRstd>(
        "weight_within_the_group", "counts weight and bias from the first channel of the group")}};

}  // namespace
}  // namespace assay

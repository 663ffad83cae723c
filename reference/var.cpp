#include "ops/var.h"

#include "reduced.h"
#include "reference_of.h"
#include "scalars/moments.h"

namespace assay {
namespace {

struct Var {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, std::optional<std::int64_t> correction, bool keepdim,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const S squares = moments(r.size(), self, [&](std::int64_t k) { return r.number(k); }).squares;
    return squares / S(std::max<std::int64_t>(r.size() - correction.value_or(1), 0));
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct AboutZero {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, std::optional<std::int64_t> correction, bool keepdim,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const S squares =
        sum<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)) * self.at(r.number(k)); });
    return squares / S(std::max<std::int64_t>(r.size() - correction.value_or(1), 0));
  }
};

struct Deviation {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, std::optional<std::int64_t> correction, bool keepdim,
               const Index& i) const {
    return sqrt(maximum(Var{}(self, dim, correction, keepdim, i), S(0)));
  }
};

struct MeanDeviation {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, std::optional<std::int64_t>, bool keepdim,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const auto x = [&](std::int64_t k) { return self.at(r.number(k)); };
    const S n = S(r.size()), mean = sum<S>(r.size(), x) / n;
    return sum<S>(r.size(), [&](std::int64_t k) { return abs(x(k) - mean); }) / n;
  }
};

const EnrolledReference var_reference{reference<ops::var_correction, Var>()};

const EnrolledWrong var_wrong[] = {
    EnrolledWrong{wrong_formula<ops::var_correction, MeanDeviation>(
        "mean_deviation", "gives the mean distance from the mean, and not that of squares")},
    EnrolledWrong{wrong_formula<ops::var_correction, AboutZero>("about_zero", "does not take the mean away")},
    EnrolledWrong{wrong_formula<ops::var_correction, Deviation>(
        "deviation", "takes the root: the standard deviation, and not the variance")}};

}  // namespace
}  // namespace assay

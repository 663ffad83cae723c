#include "ops/sum.h"

#include "reduced.h"
#include "reference_of.h"

namespace assay {
namespace {

struct Sum {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype> /*dtype*/,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    return sum<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)); });
  }
};

struct Mean {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype> /*dtype*/,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    return sum<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)); }) / S(r.size());
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct DividedByAll {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype>,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    return sum<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)); }) / S(self.numel());
  }
};

struct DividedByOneFewer {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype>,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    return sum<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)); }) / S(r.size() - 1);
  }
};

struct Product {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype>,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    if (r.size() == 0) return S(1);
    S all = self.at(r.number(0));
    for (std::int64_t k = 1; k < r.size(); ++k) all = all * self.at(r.number(k));
    return all;
  }
};

// The norm of the elements as of a vector, over their number or not.
template <bool kIsMean>
struct Length {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype>,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const S squares =
        sum<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)) * self.at(r.number(k)); });
    if constexpr (std::is_same_v<S, Integer>)
      return squares;  // the root is no integer
    else
      return sqrt(kIsMean ? squares / S(r.size()) : squares);
  }
};

struct LogOfExponentials {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype>,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    if constexpr (std::is_same_v<S, Integer>)
      return S(0);  // exponentials are no integers
    else
      return log(sum<S>(r.size(), [&](std::int64_t k) { return exp(self.at(r.number(k))); }));
  }
};

// As a mean over what a mask leaves, whose other elements are 0.
struct OfThoseThatAreNotZero {
  template <class S>
  S operator()(const Tensor<S>& self, AxisList dim, bool keepdim, std::optional<Dtype>,
               const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const auto x = [&](std::int64_t k) { return self.at(r.number(k)); };
    const S count = sum<S>(r.size(), [&](std::int64_t k) { return select(x(k) == S(0), S(0), S(1)); });
    return sum<S>(r.size(), x) / count;
  }
};

const EnrolledReference sum_reference[] = {EnrolledReference{reference<ops::sum_dim_int_list, Sum>()},
                                           EnrolledReference{reference<ops::mean_dim, Mean>()}};

const EnrolledWrong sum_wrong[] = {
    EnrolledWrong{wrong_formula<ops::mean_dim, DividedByAll>("divided_by_all",
                                                             "divides by the number of all elements")},
    EnrolledWrong{wrong_formula<ops::mean_dim, DividedByOneFewer>("divided_by_one_fewer",
                                                                  "divides by n - 1, and not by n")},
    EnrolledWrong{wrong_formula<ops::mean_dim, Length<true>>("root_of_squares",
                                                             "gives the root of the mean of squares")},
    EnrolledWrong{wrong_formula<ops::mean_dim, OfThoseThatAreNotZero>(
        "of_those_not_zero", "divides by the number of elements that are not 0, as of what a mask leaves")},
    EnrolledWrong{wrong_formula<ops::sum_dim_int_list, Length<false>>(
        "length", "gives the root of the sum of squares, as norm does", kFloatingPoint)},
    EnrolledWrong{wrong_formula<ops::sum_dim_int_list, LogOfExponentials>(
        "log_of_exponentials", "gives the logarithm of the sum of exponentials, as logsumexp does",
        kFloatingPoint)},
    EnrolledWrong{
        wrong_formula<ops::sum_dim_int_list, Product>("product", "multiplies the elements, as prod does")}};

}  // namespace
}  // namespace assay

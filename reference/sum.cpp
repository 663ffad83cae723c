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

const EnrolledReference sum_reference[] = {EnrolledReference{reference<ops::sum_dim_int_list, Sum>()},
                                           EnrolledReference{reference<ops::mean_dim, Mean>()}};

const EnrolledWrong sum_wrong[] = {EnrolledWrong{
    wrong_formula<ops::mean_dim, DividedByAll>("divided_by_all", "divides by the number of all elements")}};

}  // namespace
}  // namespace assay

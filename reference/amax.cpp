#include "ops/amax.h"

#include <algorithm>

#include "reduced.h"
#include "reference_of.h"

namespace assay {
namespace {

struct Amax {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    S m = self.at(r.number(0));
    for (std::int64_t k = 1; k < r.size(); ++k) m = maximum(m, self.at(r.number(k)));
    return m;
  }
};

struct Argmax {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    return largest_at<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(k)); });
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct NanIgnored {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    S m = self.at(r.number(0));
    for (std::int64_t k = 1; k < r.size(); ++k)
      m = select(is_nan(m) || self.at(r.number(k)) > m, self.at(r.number(k)), m);
    return m;
  }
};

struct LastOfEqual {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const std::int64_t last = r.size() - 1;
    const S from_the_end =
        largest_at<S>(r.size(), [&](std::int64_t k) { return self.at(r.number(last - k)); });
    for (std::int64_t& place : places()) place = last - place;
    std::ranges::reverse(places());
    return S(last) - from_the_end;
  }
};

const EnrolledReference amax_reference[] = {EnrolledReference{reference<ops::amax, Amax>()},
                                            EnrolledReference{reference<ops::argmax, Argmax>()}};

const EnrolledWrong amax_wrong[] = {
    EnrolledWrong{wrong_formula<ops::amax, NanIgnored>(
        "nan_ignored", "looks for the largest number beside NaN, as fmax does", kFloatingPoint)},
    EnrolledWrong{
        wrong_formula<ops::argmax, LastOfEqual>("last_of_equal", "gives the last of equal numbers")}};

}  // namespace
}  // namespace assay

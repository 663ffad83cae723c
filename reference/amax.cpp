#include "ops/amax.h"

#include <algorithm>

#include "reduced.h"
#include "reference_of.h"
#include "signed.h"

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

struct Smallest {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    S m = self.at(r.number(0));
    for (std::int64_t k = 1; k < r.size(); ++k) {
      const S x = self.at(r.number(k));
      m = select(is_nan(x), x, select(x < m, x, m));
    }
    return m;
  }
};

// Beside 0, with which the search begins.
struct ZeroAtLeast {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> dim, bool keepdim, const Index& i) const {
    return maximum(Amax{}(self, dim, keepdim, i), S(0));
  }
};

struct PlaceOfSmallest {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    return largest_at<S>(r.size(), [&](std::int64_t k) { return S(0) - self.at(r.number(k)); });
  }
};

struct PlaceFromOne {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<std::int64_t> dim, bool keepdim, const Index& i) const {
    const S place = Argmax{}(self, dim, keepdim, i);
    for (std::int64_t& p : places()) ++p;
    return place + S(1);
  }
};

struct PlaceInEverything {
  template <class S>
  S operator()(const Tensor<S>& self, std::optional<std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const S place = Argmax{}(self, dim, keepdim, i);
    if (r.size() < 2) return place + S(r.number(0));
    const std::int64_t step = r.number(1) - r.number(0);
    for (std::int64_t& p : places()) p = r.number(p);
    return place * S(step) + S(r.number(0));
  }
};

struct LargestMagnitude {
  template <class S>
  S operator()(const Tensor<S>& self, std::span<const std::int64_t> dim, bool keepdim, const Index& i) const {
    const Reduced r(self.shape(), Axes(dim, self.rank()), keepdim, i);
    const auto size = [&](std::int64_t k) {
      const S x = self.at(r.number(k));
      return select(x < S(0), S(0) - x, x);
    };
    S m = size(0);
    for (std::int64_t k = 1; k < r.size(); ++k) m = maximum(m, size(k));
    return m;
  }
};

const EnrolledReference amax_reference[] = {EnrolledReference{reference<ops::amax, Amax>()},
                                            EnrolledReference{reference<ops::argmax, Argmax>()}};

const EnrolledWrong amax_wrong[] = {
    EnrolledWrong{wrong_formula<ops::amax, NanIgnored>(
        "nan_ignored", "looks for the largest number beside NaN, as fmax does", kFloatingPoint)},
    EnrolledWrong{
        wrong_formula<ops::amax, Smallest>("smallest", "gives the smallest number, as amin does")},
    EnrolledWrong{wrong_formula<ops::amax, ZeroAtLeast>(
        "zero_at_least", "begins with 0, so that no result is negative", kSigned)},
    EnrolledWrong{wrong_formula<ops::argmax, PlaceOfSmallest>(
        "smallest", "gives the place of the smallest number, as argmin does", kFloatingPoint)},
    EnrolledWrong{wrong_formula<ops::argmax, PlaceFromOne>("from_one", "counts indices from 1")},
    EnrolledWrong{wrong_formula<ops::argmax, PlaceInEverything>(
        "place_in_the_tensor", "counts indices in the whole tensor, and not along dim",
        // In 16 bits the formula's own numbers would be rounded, as nobody rounds an index.
        only(Dtype::f64) | only(Dtype::f32) | kIntegers)},
    EnrolledWrong{wrong_formula<ops::amax, LargestMagnitude>("largest_magnitude",
                                                             "gives the largest magnitude", kFloatingPoint)},
    EnrolledWrong{wrong_formula<ops::argmax, LastOfEqual>("last_of_equal", "gives the last of equal numbers")
                      .as_defined_by("ONNX ArgMax with select_last_index")}};

}  // namespace
}  // namespace assay

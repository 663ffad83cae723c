#include "ops/max_pool2d.h"

#include "pooled.h"
#include "reference_of.h"

namespace assay {
namespace {

using Sizes = std::span<const std::int64_t>;

template <class S>
struct Largest {
  S value, place;
};

// A place, exactly: no literal of the formula, which a kernel may round.
template <class S>
S exactly(std::int64_t place) {
  if constexpr (std::is_same_v<S, Integer>)
    return S(place);
  else if constexpr (std::is_same_v<S, Dual>)
    return ScalarOps<S>::input(static_cast<double>(place), 0);
  else
    return ScalarOps<S>::input(static_cast<double>(place));
}

template <class S>
Largest<S> largest(const Tensor<S>& self, const Pooled& window) {
  if (window.size() == 0) return {self.least(), exactly<S>(window.corner())};
  Largest<S> best{self.at(window.number(0)), exactly<S>(window.place(0))};
  for (std::int64_t k = 1; k < window.size(); ++k) {
    const S x = self.at(window.number(k));
    const S place = exactly<S>(window.place(k));
    best.place = select(is_nan(x), place, select(x > best.value, place, best.place));
    best.value = select(is_nan(x), x, select(x > best.value, x, best.value));
  }
  return best;
}

struct Value {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool /*ceil_mode*/, const Index& i) const {
    return largest(self, Pooled(self.shape(), {kernel_size, stride, padding, dilation}, i)).value;
  }
};

struct Place {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool /*ceil_mode*/, const Index& i) const {
    return largest(self, Pooled(self.shape(), {kernel_size, stride, padding, dilation}, i)).place;
  }
};

// A plane at a time, so that its indices are looked through once.
struct MaxPool2dBackward {
  static RowShape rows(const Inputs&, std::span<const std::int64_t> shape) {
    return RowShape::blocks(shape, shape[shape.size() - 2] * shape[shape.size() - 1]);
  }

  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>&, Sizes, Sizes, Sizes, Sizes, bool,
                  const Tensor<S>& indices, Row<S>& plane) const {
    const std::int64_t size = grad.size(grad.rank() - 2) * grad.size(grad.rank() - 1);
    std::vector<std::vector<std::int64_t>> from(static_cast<std::size_t>(plane.size()));
    for (std::int64_t o = plane.number() * size; o < (plane.number() + 1) * size; ++o)
      from[static_cast<std::size_t>(indices.integer_at(o))].push_back(o);
    for (std::int64_t i = 0; i < plane.size(); ++i) {
      const std::vector<std::int64_t>& terms = from[static_cast<std::size_t>(i)];
      plane[i] = sum<S>(static_cast<std::int64_t>(terms.size()),
                        [&](std::int64_t k) { return grad.at(terms[static_cast<std::size_t>(k)]); });
    }
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct PaddedWithZeros {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation, bool,
               const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, dilation}, i);
    const std::int64_t all = kernel_size[0] * kernel_size[kernel_size.size() - 1];
    const S value = largest(self, window).value;
    return window.size() < all ? maximum(S(0), value) : value;
  }
};

struct PlaceInTheWindow {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool ceil_mode, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, dilation}, i);
    return Place{}(self, kernel_size, stride, padding, dilation, ceil_mode, i) - S(window.corner());
  }
};

const EnrolledReference max_pool2d_reference[] = {
    EnrolledReference{reference<ops::max_pool2d_with_indices_backward, MaxPool2dBackward>()},
    EnrolledReference{reference<ops::max_pool2d_with_indices, Value, Place>()},
    EnrolledReference{reference<ops::max_pool2d, Value>()}};

constexpr DtypeSet kSigned =
    kFloatingPoint | only(Dtype::i64) | only(Dtype::i32) | only(Dtype::i16) | only(Dtype::i8);

const EnrolledWrong max_pool2d_wrong[] = {
    EnrolledWrong{wrong_formula<ops::max_pool2d, PaddedWithZeros>(
        "padded_with_zeros", "takes the padding to be zeros, and not below every number", kSigned)},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, PlaceInTheWindow>(
        "place_in_the_window", "counts indices from the window's corner")}};

}  // namespace
}  // namespace assay

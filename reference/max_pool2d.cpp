#include "ops/max_pool2d.h"

#include "pooled.h"
#include "reference_of.h"
#include "signed.h"

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

// With the elements of the planes before: of all, or of those that are interleaved with this one, as channels that lie last are.
struct PlaceInTheTensor {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool ceil_mode, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, dilation}, i);
    return Place{}(self, kernel_size, stride, padding, dilation, ceil_mode, i) + S(window.plane());
  }
};
struct PlaceAmongChannels {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool ceil_mode, const Index& i) const {
    const int channel = self.rank() - 3;
    const S place = Place{}(self, kernel_size, stride, padding, dilation, ceil_mode, i);
    return place * S(self.size(channel)) + S(i[channel]);
  }
};

struct PlaceInTheBatch {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool ceil_mode, const Index& i) const {
    const int channel = self.rank() - 3;
    const std::int64_t image = self.size(channel) * self.size(channel + 1) * self.size(channel + 2);
    return PlaceAmongChannels{}(self, kernel_size, stride, padding, dilation, ceil_mode, i) +
           S(channel > 0 ? i[0] * image : 0);
  }
};

// Of equal numbers the last one, as where a kernel compares with >=, or goes through the window from its end.
struct LastPlace {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool /*ceil_mode*/, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, dilation}, i);
    if (window.size() == 0) return largest(self, window).place;
    S value = self.at(window.number(0)), place = exactly<S>(window.place(0));
    for (std::int64_t k = 1; k < window.size(); ++k) {
      const S x = self.at(window.number(k));
      const S here = exactly<S>(window.place(k));
      place = select(is_nan(x), here, select(x >= value, here, place));
      value = select(is_nan(x), x, select(x >= value, x, value));
    }
    return place;
  }
};

// Counted down the columns of a plane: tap k of the window, and not a number that is taken apart.
template <bool kInTheTensor>
struct PlaceDownColumns {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool /*ceil_mode*/, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, dilation}, i);
    const std::int64_t rows = self.size(self.rank() - 2), columns = self.size(self.rank() - 1);
    const auto down = [&](std::int64_t place) {
      return exactly<S>(place % columns * rows + place / columns + (kInTheTensor ? window.plane() : 0));
    };
    if (window.size() == 0) return exactly<S>(window.corner());
    S value = self.at(window.number(0)), place = down(window.place(0));
    for (std::int64_t k = 1; k < window.size(); ++k) {
      const S x = self.at(window.number(k));
      const S here = down(window.place(k));
      place = select(is_nan(x), here, select(x > value, here, place));
      value = select(is_nan(x), x, select(x > value, x, value));
    }
    return place;
  }
};

// Found with > alone, for which NaN is not larger: after the window's first element, or after less than every number.
template <bool kFromFirst>
struct WithoutNan {
  template <class S>
  static Largest<S> of(const Tensor<S>& self, const Pooled& window) {
    if (window.size() == 0) return largest(self, window);
    Largest<S> best{kFromFirst ? self.at(window.number(0)) : self.least(), exactly<S>(window.place(0))};
    for (std::int64_t k = kFromFirst ? 1 : 0; k < window.size(); ++k) {
      const S x = self.at(window.number(k));
      best.place = select(x > best.value, exactly<S>(window.place(k)), best.place);
      best.value = select(x > best.value, x, best.value);
    }
    return best;
  }
};
template <class By>
struct ValueBy {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation, bool,
               const Index& i) const {
    return By::template of<S>(self, Pooled(self.shape(), {kernel_size, stride, padding, dilation}, i)).value;
  }
};
template <class By>
struct PlaceBy {
  static constexpr bool on_the_way = true;

  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation, bool,
               const Index& i) const {
    return By::template of<S>(self, Pooled(self.shape(), {kernel_size, stride, padding, dilation}, i)).place;
  }
};

// Counted in the plane with its padding around it.
struct PlaceInThePadding {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool ceil_mode, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, dilation}, i);
    const std::int64_t columns = self.size(self.rank() - 1), down = padding[0],
                       across = padding[padding.size() - 1];
    const auto padded = [&](std::int64_t place) {
      return exactly<S>((place / columns + down) * (columns + 2 * across) + place % columns + across);
    };
    if (window.size() == 0) return Place{}(self, kernel_size, stride, padding, dilation, ceil_mode, i);
    S value = self.at(window.number(0)), place = padded(window.place(0));
    for (std::int64_t k = 1; k < window.size(); ++k) {
      const S x = self.at(window.number(k)), here = padded(window.place(k));
      place = select(is_nan(x), here, select(x > value, here, place));
      value = select(is_nan(x), x, select(x > value, x, value));
    }
    return place;
  }
};

struct Least {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, Sizes dilation,
               bool /*ceil_mode*/, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, dilation}, i);
    if (window.size() == 0) return self.least();
    S value = self.at(window.number(0));
    for (std::int64_t k = 1; k < window.size(); ++k) {
      const S x = self.at(window.number(k));
      value = select(is_nan(x), x, select(x < value, x, value));
    }
    return value;
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

const EnrolledWrong max_pool2d_wrong[] = {
    EnrolledWrong{wrong_formula<ops::max_pool2d, PaddedWithZeros>(
        "padded_with_zeros", "takes the padding to be zeros, and not below every number", kSigned)},
    EnrolledWrong{
        wrong_formula<ops::max_pool2d, Least>("least_number", "gives the least number of a window")},
    EnrolledWrong{
        wrong_formula<ops::max_pool2d_with_indices, ValueBy<WithoutNan<false>>, PlaceBy<WithoutNan<false>>>(
            "nan_ignored", "looks for the largest number beside NaN, as fmax does", kFloatingPoint)},
    EnrolledWrong{
        wrong_formula<ops::max_pool2d_with_indices, ValueBy<WithoutNan<true>>, PlaceBy<WithoutNan<true>>>(
            "nan_unless_first",
            "compares with > alone: NaN stays where it comes first, and is passed over elsewhere",
            kFloatingPoint)},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, LastPlace>(
        "last_of_equal", "gives the place of the last of equal numbers, and not of the first")},
    EnrolledWrong{
        wrong_formula<ops::max_pool2d_with_indices, Value, PlaceInTheBatch>(
            "place_in_the_batch", "counts indices from the first of all images, whose channels lie last")
            .as_defined_by("TensorFlow's max_pool_with_argmax with include_batch_in_index")},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, PlaceDownColumns<true>>(
                      "place_down_columns_in_the_tensor",
                      "counts indices from the tensor's first element, and within a plane down its columns")
                      .as_defined_by("ONNX MaxPool with storage_order=1")},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, PlaceDownColumns<false>>(
        "place_down_columns", "counts indices down the columns of a plane, instead of along its rows")},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, PlaceInThePadding>(
        "place_in_the_padding", "counts indices in the plane with its padding around it")},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, PlaceInTheWindow>(
        "place_in_the_window", "counts indices from the window's corner")},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, PlaceInTheTensor>(
                      "place_in_the_tensor", "counts indices from the tensor's first element")
                      .as_defined_by("ONNX MaxPool")},
    EnrolledWrong{wrong_formula<ops::max_pool2d_with_indices, Value, PlaceAmongChannels>(
                      "place_among_channels", "counts indices in an image whose channels lie last")
                      .as_defined_by("TensorFlow's max_pool_with_argmax")}};

}  // namespace
}  // namespace assay

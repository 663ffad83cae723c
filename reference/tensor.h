// What a reference sees of a tensor argument: its elements, as numbers of the scalar type it is read with.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "dtype.h"
#include "index.h"
#include "scalars/counted.h"
#include "scalars/dual.h"
#include "scalars/integer.h"
#include "scalars/scalar.h"
#include "source.h"

namespace assay {

// A tensor argument, read once: row-major, in double. Beyond 2^53 only `integers` has every bit. What a graph computes on its way has a
// shape and a dtype alone.
struct Decoded {
  std::vector<double> values;
  std::vector<std::int64_t> integers;  // of an integer dtype; else empty
  mutable std::vector<std::uint8_t>
      touched;  // which elements Counted has read; empty unless that is asked for
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::f32;
  int element_bytes = 4;  // in memory, before it was converted
};

template <class S>
class Tensor {
 public:
  Tensor() = default;
  // For results of shape `out`. `tangent` has one number for each element, or is null; only Dual looks at it. `computed` has the
  // elements of what is not decoded.
  Tensor(const Decoded& source, std::span<const std::int64_t> out, const double* tangent = nullptr,
         const Source<S>* computed = nullptr)
      : computed_(computed),
        values_(source.values.data()),
        integers_(source.integers.data()),
        touched_(source.touched.empty() ? nullptr : source.touched.data()),
        tangent_(tangent),
        shape_(source.shape),
        dtype_(source.dtype) {
    std::int64_t stride = 1;
    for (int d = rank() - 1; d >= 0; --d) {
      strides_[d] = stride;
      stride *= size(d);
    }
    numel_ = stride;
    same_ = std::ranges::equal(source.shape, out);
    // NumPy's broadcasting: trailing dimensions meet, and one of size 1 stands for all.
    lead_ = static_cast<int>(out.size()) - rank();
    for (int d = 0; d < rank(); ++d) broadcast_[d] = size(d) == 1 ? 0 : strides_[d];
  }

  int rank() const { return static_cast<int>(shape_.size()); }
  Dtype dtype() const { return dtype_; }  // that elements are converted to, if they are
  std::int64_t size(int dimension) const { return shape_[static_cast<std::size_t>(dimension)]; }
  std::int64_t numel() const { return numel_; }
  std::span<const std::int64_t> shape() const { return shape_; }

  // The element at an index of the result, broadcast to its shape.
  S operator[](const Index& i) const {
    if (same_) return at(i.number());
    std::int64_t n = 0;
    for (int d = 0; d < rank(); ++d) n += i[d + lead_] * broadcast_[d];
    return at(n);
  }
  // The element with these coordinates.
  template <class... Coordinates>
  S operator()(Coordinates... coordinates) const {
    return at(number(coordinates...));
  }
  // Its number in row-major order.
  template <class... Coordinates>
  std::int64_t number(Coordinates... coordinates) const {
    std::int64_t n = 0;
    int d = 0;
    ((n += coordinates * strides_[d++]), ...);
    return n;
  }
  // The element of this number of a tensor of integers, exactly: an index, or a term of a sum without rounding.
  std::int64_t integer_at(std::int64_t n) const {
    touch(n);
    return integers_[n];
  }
  // What is below every other number of the dtype, or equal to it: -infinity, or the least integer.
  S least() const {
    if constexpr (std::is_same_v<S, Integer>)
      return S(static_cast<std::int64_t>(integer_range(dtype_).least));
    else
      return S(-INFINITY);
  }
  // Whether elements have been decoded: what follows is for those alone.
  bool is_decoded() const { return computed_ == nullptr; }
  // The element of this number as it is, for scalars that take many at once.
  double value(std::int64_t n) const { return values_[n]; }
  std::span<const double> values(std::int64_t first, std::int64_t n) const {
    return {values_ + first, static_cast<std::size_t>(n)};
  }
  // Whether the element is finite for certain.
  bool is_finite(std::int64_t n) const {
    return computed_ != nullptr ? finite_for_certain(computed_->at(n)) : std::isfinite(values_[n]);
  }
  // The element of this number in row-major order.
  S at(std::int64_t n) const {
    if (computed_ != nullptr) return computed_->at(n);
    touch(n);
    if constexpr (std::is_same_v<S, Dual>)
      return ScalarOps<S>::input(values_[n], tangent_ != nullptr ? tangent_[n] : 0);
    else if constexpr (std::is_same_v<S, Integer>)
      return ScalarOps<S>::input(integers_[n]);
    else
      return ScalarOps<S>::input(values_[n]);
  }

 private:
  void touch(std::int64_t n) const {
    if constexpr (std::is_same_v<S, Counted>)
      if (touched_ != nullptr) touched_[n] = 1;
  }

  const Source<S>* computed_ = nullptr;
  const double* values_ = nullptr;
  const std::int64_t* integers_ = nullptr;
  std::uint8_t* touched_ = nullptr;
  const double* tangent_ = nullptr;
  std::span<const std::int64_t> shape_;
  Dtype dtype_ = Dtype::f32;
  std::int64_t numel_ = 0;
  int lead_ = 0;
  bool same_ = false;
  std::array<std::int64_t, kMaxRank> strides_{};
  std::array<std::int64_t, kMaxRank> broadcast_{};
};

}  // namespace assay

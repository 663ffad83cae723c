// Operators that are sums of products of elements of two tensors: matrix products and convolutions. Which elements those are, step by
// step of the sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "../model/call.h"

namespace assay::diagnose {

// Row-major numbers of two factors in their tensors; both are -1 for a tap outside the image.
struct Product {
  std::int64_t first = -1, second = -1;
};

class Products {
 public:
  // Nothing of an operator that is none of these.
  static std::optional<Products> of(const Call& call);

  // Of the two tensors: the argument, and the dimension along which the sum runs, step by step. Each step has `inner` products, which are
  // the taps of a convolution's window.
  std::size_t argument[2] = {0, 1}, dimension[2] = {0, 0};
  std::int64_t steps = 0, inner = 1;
  std::int64_t groups = 1;  // step k is index k of the first tensor's dimension in each of so many groups
  double factor = 1;        // of the sum

  // What an element of the result adds, in order: steps * inner.
  std::vector<Product> products(std::int64_t at) const;

 private:
  Shape out_, first_, second_;
  bool is_window_ = false, rows_only_ = false;
  std::vector<std::int64_t> stride_, padding_, dilation_;
};

}  // namespace assay::diagnose

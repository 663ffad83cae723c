// Sums of products of elements of two tensors, which matrix products and convolutions are. They are what
//
//   sum<S>(n + (also != nullptr), [&](k) { return k == n ? *also : a.at(at(k).a) * b.at(at(k).b); })
//
// is, to the bit; Tracked takes many products at once.
#pragma once

#include <algorithm>
#include <array>

#include "scalars/scalar.h"
#include "scalars/tracked.h"
#include "tensor.h"

namespace assay {

// Which elements are multiplied: their numbers in row-major order. They are asked for once for each k, in order.
struct Factors {
  std::int64_t a, b;
};

template <class S, class At>
S sum_of_products(std::int64_t n, const Tensor<S>& a, const Tensor<S>& b, At&& at, const S* also = nullptr) {
  if constexpr (requires { typename ScalarOps<S>::Products; }) {
    if (a.is_decoded() && b.is_decoded()) {
      typename ScalarOps<S>::Products products;
      for (std::int64_t k = 0; k < n; ++k) {
        stop_point_at(k);
        const Factors f = at(k);
        products.add(a.value(f.a), b.value(f.b));
      }
      return products.total(also);
    }
  }
  return sum<S>(n + (also != nullptr ? 1 : 0), [&](std::int64_t k) {
    if (k == n) return *also;
    const Factors f = at(k);
    return a.at(f.a) * b.at(f.b);
  });
}

}  // namespace assay

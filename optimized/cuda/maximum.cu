// The larger of two numbers, NaN where either is: of equal numbers only zeros differ, in a sign that their
// sum settles.
#include "ops/maximum.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Maximum {
  template <class C>
  __device__ C operator()(C self, C other) const {
    if (self == other) return self == C(0) ? self + other : self;
    return is_nan(self) || self > other ? self : other;
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return self > other ? self : other;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void maximum(const View& self, const View& other, View& out) { elementwise(Maximum{}, out, self, other); }

constexpr assay_kernel maximum_kernels[] = {ASSAY_CUDA(ops::maximum, maximum, ASSAY_CUDA_IN_PLACE)};
const Enrolled maximum_enrolled{maximum_kernels};

}  // namespace
}  // namespace assay::cuda

// Rectified linear unit, and with a slope for negative numbers.
#include "ops/relu.h"

#include "contracts.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// NaN is not below 0, and stays.
struct Relu {
  template <class C>
  __device__ C operator()(C x) const {
    return x < C(0) ? C(0) : x;
  }
  __device__ std::int64_t integers(std::int64_t x) const { return x < 0 ? 0 : x; }
};

struct LeakyRelu {
  double slope;
  template <class C>
  __device__ C operator()(C x) const {
    return x > C(0) ? x : x * static_cast<C>(slope);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void relu(const View& self, View& out) { elementwise(Relu{}, out, self); }
void leaky_relu(const View& self, Scalar negative_slope, View& out) {
  elementwise(LeakyRelu{negative_slope.real}, out, self);
}

constexpr assay_kernel relu_kernels[] = {ASSAY_CUDA(ops::relu, relu, ASSAY_CUDA_IN_PLACE),
                                         ASSAY_CUDA(ops::leaky_relu, leaky_relu, ASSAY_CUDA_IN_PLACE)};
const Enrolled relu_enrolled{relu_kernels};

}  // namespace
}  // namespace assay::cuda

// Rectified linear unit with a learned slope for each channel: the slope is a view that broadcasts along
// dimension 1. A compare and a select, not max(x, 0) + w * min(x, 0), so that an infinite slope does not
// touch positive inputs, and NaN and -0 come out right.
#include "ops/prelu.h"

#include "contracts.h"
#include "elementwise.h"
#include "geometry/channel.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Prelu {
  template <class C>
  __device__ C operator()(C x, C weight) const {
    return x > C(0) ? x : weight * x;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void prelu(const View& self, const View& weight, View& out) {
  elementwise(Prelu{}, out, self, cpu::ChannelView(weight, self.rank()).view());
}

constexpr assay_kernel prelu_kernels[] = {ASSAY_CUDA(ops::prelu, prelu, ASSAY_CUDA_IN_PLACE)};
const Enrolled prelu_enrolled{prelu_kernels};

}  // namespace
}  // namespace assay::cuda

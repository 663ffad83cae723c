// The gradient of a rectified linear unit with a learned slope for each channel.
//
// That of self is element-wise, with the slope as a view that broadcasts; that of the slope is a sum over all dimensions but
// that of channels (reduce.h). A compare and a select, so that an infinite slope does not touch positive numbers.
#include "contracts.h"
#include "elementwise.h"
#include "geometry/channel.h"
#include "ops/prelu.h"
#include "reduce.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct PreluGradSelf {
  template <class C>
  __device__ C operator()(C grad, C x, C weight) const {
    return x > C(0) ? grad : weight * grad;
  }
};

template <class T>
struct PreluGradWeight : Addition {
  using State = Compute<T>;
  T* out;

  explicit PreluGradWeight(T* to) : out(to) {}
  __device__ void add(State& s, std::int64_t, State grad, State x) const {
    if (!(x > State(0))) s += x * grad;
  }
  __device__ void store(std::int64_t, std::int64_t offset, State s, std::int64_t) const {
    out[offset] = narrowed<T>(s);
  }
};

// All dimensions but that of channels, or all.
struct ButSlopes {
  bool of_channels;
  bool contains(int dimension) const { return !of_channels || dimension != 1; }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void prelu_backward(const View& grad_output, const View& self, const View& weight, View& grad_self,
                    View& grad_weight) {
  elementwise(PreluGradSelf{}, grad_self, grad_output, self, cpu::ChannelView(weight, self.rank()).view());
  const bool of_channels = self.rank() >= 2 && self.size(1) == weight.size(0);
  View to = grad_weight;
  if (!of_channels) to.ndim = 0;
  const View* const in[] = {&grad_output, &self};
  const ReducePlan plan(to, in, 2, ButSlopes{of_channels}, false);
  with_floating_point(grad_weight.type(), [&](auto element) {
    using T = decltype(element);
    reduce<T>(PreluGradWeight<T>(grad_weight.as<T>()), plan, grad_output, self);
  });
}

constexpr const char* kPreluBackwardContract = ASSAY_CUDA_SUM "\n" ASSAY_CUDA_BY_LAYOUT;
constexpr assay_kernel prelu_backward_kernels[] = {
    ASSAY_CUDA(ops::prelu_backward, prelu_backward, kPreluBackwardContract)};
const Enrolled prelu_backward_enrolled{prelu_backward_kernels};

}  // namespace
}  // namespace assay::cuda

// Rectified linear unit with a learned slope for each channel, and its backward.
//
// The idea: the slope is a view that broadcasts along dimension 1, and the rest is element-wise: a splat for
// each row of a contiguous tensor, a vector of slopes in channels-last (elementwise.h). A compare and a
// select, not max(x, 0) + w * min(x, 0), so that an infinite slope does not touch positive inputs, and NaN
// and -0 come out right. One product, rounded once; f16 and bf16 in f32, rounded once more. grad_weight is a
// sum in the compute type, in the fixed order of channel_sum.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/prelu.cpp"
#include "levels.h"

#include "../geometry/channel.h"
#include "channel_sum.h"
#include "elementwise.h"
#include "ops/prelu.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Prelu {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V weight) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(weight, x));
  }
};

struct GradSelf {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V x, V weight) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), grad, hn::Mul(weight, grad));
  }
};

struct GradWeight {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, V x, V grad) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), sum, hn::MulAdd(x, grad, sum));
  }
};

void prelu(const View& self, const View& weight, View& out) {
  elementwise(Prelu{}, out, self, ChannelView(weight, self.rank()).view());
}

void prelu_backward(const View& grad_output, const View& self, const View& weight, View& grad_self,
                    View& grad_weight) {
  elementwise(GradSelf{}, grad_self, grad_output, self, ChannelView(weight, self.rank()).view());
  channel_sum(GradWeight{}, grad_weight, self, grad_output);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::prelu, prelu, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::prelu_backward, prelu_backward, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

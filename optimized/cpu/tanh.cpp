// Hyperbolic tangent: elementary_tanh.h over any layout. Its backward is the formula, 1 - output^2 with a fused
// multiply-add.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tanh.cpp"
#include "levels.h"

#include "elementary_tanh.h"
#include "elementwise.h"
#include "ops/tanh.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return tanh(d, x);
  }
};

struct Backward {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad, V output) const {
    return hn::Mul(grad, hn::NegMulAdd(output, output, hn::Set(d, hn::TFromD<D>{1})));
  }
};

void run(const View& self, View& out) { elementwise(Tanh{}, out, self); }
void backward(const View& grad_output, const View& output, View& out) {
  elementwise(Backward{}, out, grad_output, output);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::tanh, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_TANH),
                                    ASSAY_CPU_LEVELS(ops::tanh_backward, backward, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

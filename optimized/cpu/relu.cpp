// Rectified linear unit, and with a slope for negative numbers.
//
// The idea: a compare and a select, so that NaN and -0 pass through as they are. Memory
// decides the speed. Any layout (elementwise.h); no arithmetic, hence no error.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/relu.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/relu.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Relu {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const { return HWY_MAX(x, 0); }
};

struct LeakyRelu {
  static constexpr bool cheap = true;
  double slope;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V sloped = hn::Mul(x, hn::Set(d, static_cast<hn::TFromD<D>>(slope)));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, sloped);
  }
};

void relu(const View& self, View& out) { elementwise(Relu{}, out, self); }
void leaky_relu(const View& self, Scalar negative_slope, View& out) {
  elementwise(LeakyRelu{negative_slope.real}, out, self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::relu, relu, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::leaky_relu, leaky_relu, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

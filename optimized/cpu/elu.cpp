// Exponential linear unit, with expm1 of elementary_tanh.h, so that small results keep their digits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elu.cpp"
#include "levels.h"

#include "elementary_tanh.h"
#include "elementwise.h"
#include "ops/elu.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Elu {
  double negative, positive, input;  // factors
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const auto set = [&](double factor) HWY_ATTR { return hn::Set(d, static_cast<hn::TFromD<D>>(factor)); };
    const V below = hn::Mul(set(negative), expm1(d, hn::Mul(x, set(input))));
    return hn::IfThenElse(hn::Le(x, hn::Zero(d)), below, hn::Mul(x, set(positive)));
  }
};

void run(const View& self, Scalar alpha, Scalar scale, Scalar input_scale, View& out) {
  elementwise(Elu{alpha.real * scale.real, scale.real, input_scale.real}, out, self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::elu, run, ASSAY_CPU_IN_PLACE "\n" ASSAY_CPU_EXPM1)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

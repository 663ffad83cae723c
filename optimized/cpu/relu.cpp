// Rectified linear unit.
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
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  }
};

void relu(const View& self, View& out) { elementwise(Relu{}, out, self); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract =
    "in_place=yes -- optimized/cpu/elementwise.h: an element is read before it is written";
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::relu, relu, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

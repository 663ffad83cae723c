// Addition and subtraction of tensors, with a factor.
//
// The idea: a difference is a sum with -alpha, to the bit. alpha is rounded once to the compute type, then one fused multiply-add an element (cpu.baseline:
// a product and a sum, two roundings). With alpha = 1 both are the correctly rounded sum. Operands of other
// dtypes are first converted to the result's, as ATen promotes them. Any layout and broadcasting
// (elementwise.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/add.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/add.h"
#include "wrap.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Add {
  static constexpr bool cheap = true;
  double alpha;
  std::int64_t integer;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V other) const {
    return hn::MulAdd(hn::Set(d, static_cast<hn::TFromD<D>>(alpha)), other, self);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_add(self, wrapping_multiply(integer, other));
  }
};

void add(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{alpha.real, alpha.integer}, out, self, other);
}

void sub(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{-alpha.real, wrapping_multiply(-1, alpha.integer)}, out, self, other);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::add_tensor, add, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::sub_tensor, sub, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

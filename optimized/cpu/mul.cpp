// Multiplication of tensors: one product, rounded once. Any layout and broadcasting (elementwise.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/mul.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/mul.h"
#include "wrap.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Mul {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V self, V other) const {
    return hn::Mul(self, other);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_multiply(self, other);
  }
};

void run(const View& self, const View& other, View& out) { elementwise(Mul{}, out, self, other); }

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::mul_tensor, run, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

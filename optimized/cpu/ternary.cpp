// Arithmetic of three tensors, over any layout and broadcasting.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ternary.cpp"
#include "levels.h"

#include "../geometry/wrap.h"
#include "elementwise.h"
#include "ops/ternary.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Addcmul {
  static constexpr bool cheap = true;
  double value;
  std::int64_t integer;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V a, V b) const {
    return hn::MulAdd(hn::Mul(hn::Set(d, static_cast<hn::TFromD<D>>(value)), a), b, self);
  }
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t a, std::int64_t b) const {
    return wrapping_add(self, wrapping_multiply(integer, wrapping_multiply(a, b)));
  }
};
struct Addcdiv {
  static constexpr bool cheap = true;
  double value;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V a, V b) const {
    return hn::Add(self, hn::Div(hn::Mul(hn::Set(d, static_cast<hn::TFromD<D>>(value)), a), b));
  }
};

void addcmul(const View& self, const View& tensor1, const View& tensor2, Scalar value, View& out) {
  elementwise(Addcmul{value.real, value.integer}, out, self, tensor1, tensor2);
}
void addcdiv(const View& self, const View& tensor1, const View& tensor2, Scalar value, View& out) {
  elementwise(Addcdiv{value.real}, out, self, tensor1, tensor2);
}

// From the nearer end, so that weights 0 and 1 give the ends themselves.
struct Lerp {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V end, V weight) const {
    const V one = hn::Set(d, hn::TFromD<D>{1}), way = hn::Sub(end, self);
    const auto near = hn::Lt(hn::Abs(weight), hn::Set(d, hn::TFromD<D>(0.5)));
    return hn::IfThenElse(near, hn::MulAdd(weight, way, self), hn::NegMulAdd(way, hn::Sub(one, weight), end));
  }
};

void lerp(const View& self, const View& end, const View& weight, View& out) {
  elementwise(Lerp{}, out, self, end, weight);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::addcmul, addcmul, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::addcdiv, addcdiv, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::lerp_tensor, lerp, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

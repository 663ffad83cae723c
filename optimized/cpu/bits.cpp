// Integers bit by bit, and truth values, over any layout and broadcasting.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/bits.cpp"
#include "levels.h"

#include "elementwise.h"
#include "ops/bits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct BitwiseAnd {
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const { return self & other; }
};
struct BitwiseOr {
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const { return self | other; }
};
struct BitwiseXor {
  HWY_INLINE std::int64_t integers(std::int64_t self, std::int64_t other) const { return self ^ other; }
};
// Of bool the one bit that it has: `mask`.
struct BitwiseNot {
  std::int64_t mask;
  HWY_INLINE std::int64_t integers(std::int64_t self) const { return self ^ mask; }
};

void bitwise_not(const View& self, View& out) {
  elementwise(BitwiseNot{self.type() == Dtype::boolean ? 1 : -1}, out, self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_BINARY(ops::bitwise_and_tensor, BitwiseAnd),
                                    ASSAY_CPU_BINARY(ops::bitwise_or_tensor, BitwiseOr),
                                    ASSAY_CPU_BINARY(ops::bitwise_xor_tensor, BitwiseXor),
                                    ASSAY_CPU_LEVELS(ops::bitwise_not, bitwise_not, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif

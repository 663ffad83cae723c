// Integers bit by bit, and truth values, over any layout and broadcasting.
#include "ops/bits.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct BitwiseAnd {
  static constexpr bool only_integers = true;
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const { return self & other; }
};

struct BitwiseOr {
  static constexpr bool only_integers = true;
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const { return self | other; }
};

struct BitwiseXor {
  static constexpr bool only_integers = true;
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const { return self ^ other; }
};

// Of bool the one bit that it has: `mask`.
struct BitwiseNot {
  static constexpr bool only_integers = true;
  std::int64_t mask;
  __device__ std::int64_t integers(std::int64_t self) const { return self ^ mask; }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void bitwise_not(const View& self, View& out) {
  elementwise(BitwiseNot{self.type() == Dtype::boolean ? 1 : -1}, out, self);
}

constexpr assay_kernel bits_kernels[] = {
    ASSAY_CUDA(ops::bitwise_and_tensor, binary<BitwiseAnd>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::bitwise_or_tensor, binary<BitwiseOr>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::bitwise_xor_tensor, binary<BitwiseXor>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::bitwise_not, bitwise_not, ASSAY_CUDA_IN_PLACE)};
const Enrolled bits_enrolled{bits_kernels};

}  // namespace
}  // namespace assay::cuda

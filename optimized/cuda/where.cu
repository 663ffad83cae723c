// One of two numbers, as a condition says: bits are moved, and nothing is computed, so that integers of the
// same size serve where dtypes agree.
#include "ops/where.h"

#include "contracts.h"
#include "elementwise.h"
#include "geometry/wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Where {
  template <class C>
  __device__ C operator()(C condition, C self, C other) const {
    return condition != C(0) ? self : other;
  }
  __device__ std::int64_t integers(std::int64_t condition, std::int64_t self, std::int64_t other) const {
    return condition != 0 ? self : other;
  }
};

struct MaskedFill {
  double value;
  std::int64_t integer;
  template <class C>
  __device__ C operator()(C self, C mask) const {
    return mask != C(0) ? static_cast<C>(value) : self;
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t mask) const {
    return mask != 0 ? integer : self;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void where(const View& condition, const View& self, const View& other, View& out) {
  if (self.type() != out.type() || other.type() != out.type())
    return elementwise(Where{}, out, condition, self, other);
  with_bits(out.type(), [&](auto bits) {
    using T = decltype(bits);
    elementwise_of<T, std::uint8_t, T, T>(Where{}, out, condition, self, other);
  });
}

void masked_fill(const View& self, const View& mask, Scalar value, View& out) {
  // Of bool 1 where it is not 0.
  const std::int64_t integer = is_float(out.type()) ? 0 : cpu::wrapped_to(out.type(), value.integer);
  elementwise(MaskedFill{value.real, integer}, out, self, mask);
}

constexpr assay_kernel where_kernels[] = {
    ASSAY_CUDA(ops::where_self, where, nullptr),
    ASSAY_CUDA(ops::masked_fill_scalar, masked_fill, ASSAY_CUDA_IN_PLACE)};
const Enrolled where_enrolled{where_kernels};

}  // namespace
}  // namespace assay::cuda

// One of two numbers, as a condition says: bits are moved, and nothing is computed, so that integers of the
// same size serve where dtypes agree.
#include "ops/where.h"

#include "contracts.h"
#include "elementwise.h"

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

constexpr assay_kernel where_kernels[] = {ASSAY_CUDA(ops::where_self, where, nullptr)};
const Enrolled where_enrolled{where_kernels};

}  // namespace
}  // namespace assay::cuda

// Variance over dimensions: once through memory, by moments that are merged (moments.h).
#include "ops/var.h"

#include "contracts.h"
#include "moments.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <class T>
struct Variance : MomentsReducer<T> {
  T* out;
  std::int64_t correction;

  Variance(T* to, std::int64_t less) : out(to), correction(less) {}
  __device__ void store(std::int64_t, std::int64_t offset, const Moments<Compute<T>>& s,
                        std::int64_t n) const {
    const std::int64_t divisor = n > correction ? n - correction : 0;
    out[offset] = narrowed<T>(s.squares / static_cast<Compute<T>>(divisor));
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void var(const View& self, std::optional<std::span<const std::int64_t>> dim,
         std::optional<std::int64_t> correction, bool keepdim, View& out) {
  const View* const in[] = {&self};
  const ReducePlan plan(out, in, 1, Axes(dim, self.rank()), keepdim);
  with_floating_point(out.type(), [&](auto element) {
    using T = decltype(element);
    reduce<T>(Variance<T>(out.as<T>(), correction.value_or(1)), plan, self);
  });
}

constexpr const char* kVarContract = ASSAY_CUDA_MOMENTS "\n" ASSAY_CUDA_BY_LAYOUT;
constexpr assay_kernel var_kernels[] = {ASSAY_CUDA(ops::var_correction, var, kVarContract)};
const Enrolled var_enrolled{var_kernels};

}  // namespace
}  // namespace assay::cuda

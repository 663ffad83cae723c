// A copy into any layout of memory: through tiles in shared memory where the input's rows go along another
// dimension than the output's (transpose.h), else an element at a time, or a vector. Elements are moved as
// bits, so that the dtype matters by its size alone.
#include "ops/clone.h"

#include "elementwise.h"
#include "transpose.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Copy {
  __device__ std::int64_t integers(std::int64_t x) const { return x; }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void clone(const View& self, std::optional<MemoryFormat>, View& out) {
  const View* const views[] = {&out, &self};
  const cpu::Space space = cpu::make_space(views, 2);
  if (space.count == 0) return;
  const std::size_t near = transposed_dimension(space);
  with_bits(out.type(), [&](auto bits) {
    using T = decltype(bits);
    if (near != 0)
      copy_transposed<T>(space, near, self, out);
    else
      elementwise_of<T, T>(Copy{}, out, self);
  });
}

constexpr assay_kernel clone_kernels[] = {ASSAY_CUDA(ops::clone, clone, nullptr)};
const Enrolled clone_enrolled{clone_kernels};

}  // namespace
}  // namespace assay::cuda

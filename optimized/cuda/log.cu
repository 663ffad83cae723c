// Natural logarithm: CUDA's own, over any layout.
#include "ops/log.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Log {
  template <class C>
  __device__ C operator()(C x) const {
    return log_of(x);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void log(const View& self, View& out) { elementwise(Log{}, out, self); }

constexpr assay_kernel log_kernels[] = {ASSAY_CUDA(ops::log, log, ASSAY_CUDA_IN_PLACE "\n" ASSAY_CUDA_LOG)};
const Enrolled log_enrolled{log_kernels};

}  // namespace
}  // namespace assay::cuda

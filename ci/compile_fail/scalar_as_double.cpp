// A Scalar keeps whether it was written as an integer: a double would lose that.
// says: this parameter of the kernel has another type than its schema says
// says: alpha
#include "ops/binary.h"
#include "vocabulary/kernel.h"

namespace assay {
#ifdef WRONG
void add(const View&, const View&, double, View&) {}
#else
void add(const View&, const View&, Scalar, View&) {}
#endif
constexpr assay_kernel kernels[] = {kernel<ops::add_tensor, add>("test")};
}  // namespace assay

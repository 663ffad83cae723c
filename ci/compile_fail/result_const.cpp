// A result that the kernel cannot write.
// says: this parameter of the kernel has another type than its schema says
// says: (result)
#include "ops/activation.h"
#include "vocabulary/kernel.h"

namespace assay {
#ifdef WRONG
void relu(const View&, const View&) {}
#else
void relu(const View&, View&) {}
#endif
constexpr assay_kernel kernels[] = {kernel<ops::relu, relu>("test")};
}  // namespace assay

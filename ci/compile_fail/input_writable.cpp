// An input that the kernel could write.
// says: this parameter of the kernel has another type than its schema says
// says: mat2
#include "ops/mm.h"
#include "vocabulary/kernel.h"

namespace assay {
#ifdef WRONG
void mm(const View&, View&, View&) {}
#else
void mm(const View&, const View&, View&) {}
#endif
constexpr assay_kernel kernels[] = {kernel<ops::mm, mm>("test")};
}  // namespace assay

// prelu_backward has two results.
// says: a kernel takes its schema's arguments in order, then one View& for each result
#include "ops/prelu.h"
#include "vocabulary/kernel.h"

namespace assay {
#ifdef WRONG
void prelu_backward(const View&, const View&, const View&, View&) {}
#else
void prelu_backward(const View&, const View&, const View&, View&, View&) {}
#endif
constexpr assay_kernel kernels[] = {kernel<ops::prelu_backward, prelu_backward>("test")};
}  // namespace assay

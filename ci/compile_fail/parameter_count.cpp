// A parameter too few: prelu takes `self` and `weight`.
// says: a kernel takes its schema's arguments in order, then one View& for each result
// says: kernel_has_another_number_of_parameters_than_its_schema
#include "ops/prelu.h"
#include "vocabulary/kernel.h"

namespace assay {
#ifdef WRONG
void prelu(const View&, View&) {}
#else
void prelu(const View&, const View&, View&) {}
#endif
constexpr assay_kernel kernels[] = {kernel<ops::prelu, prelu>("test")};
}  // namespace assay

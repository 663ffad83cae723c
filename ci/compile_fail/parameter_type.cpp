// A parameter of another type than the schema's argument: softmax.int's `dim` is an int64.
// says: this parameter of the kernel has another type than its schema says
// says: kernel_argument_does_not_match_schema
// says: dim
#include "ops/softmax.h"
#include "vocabulary/kernel.h"

namespace assay {
#ifdef WRONG
void softmax(const View&, double, std::optional<Dtype>, View&) {}
#else
void softmax(const View&, std::int64_t, std::optional<Dtype>, View&) {}
#endif
constexpr assay_kernel kernels[] = {kernel<ops::softmax_int, softmax>("test")};
}  // namespace assay

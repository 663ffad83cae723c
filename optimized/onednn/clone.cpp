// clone by oneDNN's reorder primitive, between any two sets of strides.
#include "ops/clone.h"

#include "operation.h"

namespace assay::onednn {
namespace {

dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  return dnnl::reorder::primitive_desc(engine, key.memories[0].make(), engine, key.memories[1].make(),
                                       key.attributes.make());
}

void clone(const Level& level, const View& self, std::optional<MemoryFormat>, View& out) {
  Operation operation(level, dnnl::primitive::kind::reorder);
  operation.tensor(DNNL_ARG_FROM, self);
  operation.tensor(DNNL_ARG_TO, out);
  operation.run(build);
}

constexpr const char* kSource = "optimized/onednn/clone.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::clone, clone, kSse41>(nullptr, kSource),
    kernel_at<ops::clone, clone, kAvx2>(nullptr, kSource),
    kernel_at<ops::clone, clone, kAvx512>(nullptr, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn

#include "operators.h"

#include "ops/amax.h"
#include "ops/avg_pool2d.h"
#include "ops/batch_norm.h"
#include "ops/binary.h"
#include "ops/clamp.h"
#include "ops/clone.h"
#include "ops/convolution.h"
#include "ops/cumsum.h"
#include "ops/embedding.h"
#include "ops/gelu.h"
#include "ops/group_norm.h"
#include "ops/layer_norm.h"
#include "ops/max_pool2d.h"
#include "ops/mm.h"
#include "ops/quantize.h"
#include "ops/quantized_convolution.h"
#include "ops/quantized_linear.h"
#include "ops/softmax.h"
#include "ops/sum.h"
#include "ops/upsample_bilinear2d.h"
#include "ops/where.h"
#include "toy_operators.h"
#include "vocabulary/operators.h"

namespace assay::fuzz {
namespace {

// Lists of tensors, of which shape rules say nothing.
constexpr Operator kJoined{
    .schema = parse_schema("assay::toy_joined(Tensor[] tensors, Tensor?[] more=[], int dim=0) -> Tensor"),
    .shapes = "-> [1]"};

constexpr const Operator* kAll[] = {&kToy,
                                    &kJoined,
                                    &ops::add_tensor,
                                    &ops::addmm,
                                    &ops::argmax,
                                    &ops::avg_pool2d,
                                    &ops::clamp,
                                    &ops::clone,
                                    &ops::convolution,
                                    &ops::convolution_backward,
                                    &ops::cumsum,
                                    &ops::div_tensor_mode,
                                    &ops::embedding,
                                    &ops::gelu,
                                    &ops::max_pool2d_with_indices_backward,
                                    &ops::native_batch_norm,
                                    &ops::native_group_norm,
                                    &ops::native_layer_norm_backward,
                                    &ops::quantize_per_tensor,
                                    &ops::quantized_convolution,
                                    &ops::quantized_linear,
                                    &ops::softmax_backward_data,
                                    &ops::sum_dim_int_list,
                                    &ops::upsample_bilinear2d,
                                    &ops::where_self};

}  // namespace

void enrol_operators() {
  for (const Operator* op : kAll) enrol_operator(*op);
}

}  // namespace assay::fuzz

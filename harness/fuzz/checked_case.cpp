// Cases as every command takes them: parse_case(), check_case() and check_size() throw CaseError, or say what is wrong with which
// argument, or give results of what this machine holds; materialise() then gives a call of the same.
#include <unistd.h>

#include "../generate/case_size.h"
#include "../generate/check_case.h"
#include "../generate/data.h"
#include "operators.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      "toy:f32:self=2x3x4,other=3:data=range:seed=1",
      "toy_joined:f32:tensors=[[2],[2x3]@permuted(1,0)],more=[1x1]:seed=2",
      "add.Tensor:self=f32[2x1x3]@step2,other=i32[4x1]@expanded(1),alpha=2:seed=3",
      "addmm:bf16:self=5,mat1=4x3,mat2=3x5,beta=0.5:data=edge",
      "argmax:f32:self=2x3x4,dim=-1,keepdim=true",
      "avg_pool2d:f32:self=2x3x9x9,kernel_size=[3,2],stride=[2,1],padding=[1,0],ceil_mode=true,divisor_override=-3",
      "clamp:f32:self=5,min=-1,max=2.5",
      "clone:f16:self=[2x3x4x5]@strides(60,1,15,3),memory_format=channels_last:seed=16",
      "convolution:f32:input=[2x4x7x6]@channels_last,weight=6x2x3x2,bias=6,stride=[2,1],padding=[1,0],dilation=[1,2],"
      "transposed=false,output_padding=[0,0],groups=2:seed=4",
      "convolution:i32:input=1x4x5,weight=4x3x2,bias=none,stride=[3],padding=[1],dilation=[2],transposed=true,"
      "output_padding=[2],groups=2",
      "convolution_backward:f32:grad_output=1x4x3x3,input=1x2x5x5,weight=4x2x3x3,bias_sizes=[4],stride=[1,1],padding=[0,0],"
      "dilation=[1,1],transposed=false,output_padding=[0,0],groups=1,output_mask=[true,false,true]",
      "cumsum:i16:self=3x4,dim=0,dtype=i32",
      "div.Tensor_mode:i32:self=3x2,other=2,rounding_mode=floor:data=zero_divisor",
      "embedding:weight=f32[4x3],indices=i32[2x2]:data=past_end",
      "gelu:f64:self=7,approximate=tanh",
      "max_pool2d_with_indices_backward:grad_output=f32[1x1x2x2],self=f32[1x1x4x4],kernel_size=[2,2],stride=[2,2],"
      "padding=[0,0],dilation=[1,1],ceil_mode=false,indices=i64[1x1x2x2]",
      "native_batch_norm:f32:input=2x3x4,weight=3,bias=none,running_mean=3,running_var=3,training=false,momentum=0.1,eps=1e-05",
      "native_group_norm:f32:input=2x6x5,weight=6,bias=6,N=2,C=6,HxW=5,group=3,eps=1e-05",
      "native_layer_norm_backward:f32:grad_out=2x3x4,input=2x3x4,normalized_shape=[3,4],mean=2x1x1,rstd=2x1x1,weight=3x4,"
      "bias=none,output_mask=[true,true,false]",
      "quantize_per_tensor:self=f32[9],scale=0.25,zero_point=-3,dtype=i8",
      "quantized_convolution:input=u8[1x4x5x5],weight=i8[4x2x3x3],weight_scale=f32[4],weight_zero_point=i32[4],bias=i32[4],"
      "stride=[1,1],padding=[1,1],dilation=[1,1],groups=2,input_scale=0.02,input_zero_point=128,output_scale=0.05,"
      "output_zero_point=7",
      "quantized_linear:input=u8[2x3],weight=i8[4x3],weight_scale=f32[1],weight_zero_point=i32[1],bias=none,input_scale=0.5,"
      "input_zero_point=1,output_scale=2.0,output_zero_point=255",
      "_softmax_backward_data:f32:grad_output=2x3,output=2x3,dim=1,input_dtype=f32",
      "sum.dim_IntList:f16:self=2x3x4,dim=[0,-1],keepdim=true,dtype=f32",
      "upsample_bilinear2d:f32:self=1x2x3x4,output_size=[6,2],align_corners=false,scales_h=2.0",
      "where.self:condition=bool[3x1],self=f32[1x4],other=f64[]",
  };
}

double memory_of_this_machine() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double numbers_in(const Shape& shape) {
  double n = 1;
  for (const std::int64_t size : shape) n *= static_cast<double>(size);
  return n;
}

// Bytes that the tensors take, those of inputs also as the numbers that they are made of.
double needed(const Case& c, const Checked& checked) {
  double all = 0;
  const auto add = [&](const TensorSpec& t) {
    const Strided s = strided(t.shape, t.layout);
    all += static_cast<double>(s.offset + s.span) * bytes(t.dtype) + numbers_in(t.shape) * sizeof(double);
  };
  for (const CaseValue& v : c.arguments) {
    if (const auto* t = std::get_if<TensorSpec>(&v)) add(*t);
    if (const auto* list = std::get_if<std::vector<TensorSpec>>(&v))
      for (const TensorSpec& t : *list) add(t);
  }
  for (const Checked::Output& o : checked.outputs) all += numbers_in(o.shape) * bytes(o.dtype);
  return all;
}

void look_at(const Case& c, const Checked& checked) {
  const Schema& schema = c.op->schema;
  if (!checked.ok()) {
    if (!checked.outputs.empty()) broken("results of arguments that are not allowed");
    if (schema.find(checked.argument) < 0) broken("nobody is to blame for \"" + checked.error + "\"");
    return;
  }
  if (checked.outputs.size() != schema.result_count) broken("not one shape for each result");
  for (const Checked::Output& o : checked.outputs)
    for (const std::int64_t size : o.shape)
      if (size < 0) broken("a result has the shape [" + text(o.shape) + "]");
  if (const Case same = settled(c); text(same) != text(c))
    broken("computed shapes are not those that are allowed, but \"" + text(same) + "\"");
}

void fill(const Case& c, const Checked& checked) {
  const Call call = materialise(c);
  if (call.outputs.size() != call.output_layouts.size()) broken("not one layout for each result");
  if (call.error.empty() ? call.outputs.size() != checked.outputs.size() : !call.outputs.empty())
    broken("other results than the check gave");
  const Checked again = check_arguments(*c.op, Arguments(call).values());
  if (checked.ok() ? again.error != call.error : again.ok() || call.error != checked.error)
    broken("with its data is said \"" + again.error + "\", and the call has \"" + call.error + "\"");
}

bool run(std::string_view input) {
  enrol_operators();
  static const double machine = memory_of_this_machine();
  constexpr double kFilled = 1 << 14;  // bytes: larger ones take long, and are filled by the same code
  try {
    const Case c = parse_case(input);
    const Checked checked = check_case(c);
    look_at(c, checked);
    check_size(c, checked.outputs);
    const double bytes = needed(c, checked);
    if (bytes > machine) broken("\"" + text(c) + "\" needs more memory than this machine has");
    if (bytes <= kFilled) fill(c, checked);
    return checked.ok();
  } catch (const CaseError&) {
    return false;
  }
}

}  // namespace

const Target kCheckedCase{"checked_case", seeds, run};

}  // namespace assay::fuzz

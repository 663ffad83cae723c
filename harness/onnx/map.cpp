#include "map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "translation.h"

namespace assay::onnx {
namespace {

// ---- Operators with attributes ----------------------------------------------------------------------------

void prelu(Translation& t) {
  const Shape& slope = t.input(1).shape;
  RecordedTensor weight = t.input(1);
  // One slope, or one for each channel: [C,1,1].
  const std::int64_t count = numel(slope);
  const bool channels = t.rank() >= 2 && slope.size() + 1 == t.rank() && !slope.empty() &&
                        slope[0] == count && count == t.input(0).shape[1];
  t.must(count == 1 || channels, "with slopes that are not one for each channel");
  weight.shape = {count};
  t.tensor("self", 0);
  t.tensor("weight", std::move(weight));
  t.result(0);
}

void selu(Translation& t) {
  // onnx/defs/math/defs.cc: the defaults are these, as f32.
  t.tensor("self", 0);
  t.real_argument("alpha", t.real("alpha", static_cast<double>(1.67326319217681884765625f)));
  t.real_argument("scale", t.real("gamma", static_cast<double>(1.05070102214813232421875f)));
  t.result(0);
}

void celu(Translation& t) {
  const double alpha = t.real("alpha", 1);
  int exponent = 0;
  t.must(std::frexp(alpha, &exponent) == 0.5, "with an alpha whose reciprocal is rounded");
  t.tensor("self", 0);
  t.real_argument("alpha", alpha);
  t.add("scale", "1");
  t.real_argument("input_scale", 1 / alpha);
  t.result(0);
}

void clip(Translation& t) {
  t.tensor("self", 0);
  for (const auto& [argument, i] : {std::pair<std::string, std::size_t>{"min", 1}, {"max", 2}}) {
    if (t.has_input(i)) t.real_argument(argument, t.number(i));
    if (t.has(argument)) t.real_argument(argument, t.real(argument, 0));
  }
  t.must(t.has_input(1) || t.has_input(2) || t.has("min") || t.has("max"), "without limits");
  t.result(0);
}

void softmax(Translation& t) {
  // Before opset 13 all dimensions from the axis on were one.
  const auto last = static_cast<std::int64_t>(t.rank()) - 1;
  const std::int64_t axis = t.integer("axis", t.opset() < 13 ? 1 : -1);
  t.must(t.opset() >= 13 || axis == last || axis == -1, "of opset 12 over several dimensions");
  t.tensor("self", 0);
  t.integer_argument("dim", axis);
  t.result(0);
}

// Reductions: axes are an attribute, or from opset 13 (ReduceSum) on the second input.
void reduce(Translation& t) {
  Ints axes = t.list("axes", {});
  if (t.has_input(1)) axes = t.integers(1);
  t.must(!axes.empty() || t.integer("noop_with_empty_axes", 0) == 0, "over no axes");
  t.tensor("self", 0);
  t.ints("dim", axes);
  t.flag("keepdim", t.integer("keepdims", 1) != 0);
  t.result(0);
}

void arg_max(Translation& t) {
  t.must(t.integer("select_last_index", 0) == 0, "that takes the last of equal elements");
  t.tensor("self", 0);
  t.integer_argument("dim", t.integer("axis", 0));
  t.flag("keepdim", t.integer("keepdims", 1) != 0);
  t.result(0);
}

void cumsum(Translation& t) {
  t.must(t.integer("exclusive", 0) == 0 && t.integer("reverse", 0) == 0, "exclusive or in reverse");
  t.tensor("self", 0);
  t.integer_argument("dim", t.one_integer(1));
  t.result(0);
}

void two(Translation& t) {
  t.must(t.inputs() == 2, "of other than two tensors");
  t.tensor("self", 0);
  t.tensor("other", 1);
  t.result(0);
}

void mat_mul(Translation& t) {
  t.must(t.rank(0) == t.rank(1) && (t.rank() == 2 || t.rank() == 3), "of more than three dimensions");
  if (t.rank() == 3) t.op("bmm");
  t.tensor("self", 0);
  t.tensor("mat2", 1);
  t.result(0);
}

void gemm(Translation& t) {
  const auto operand = [&](std::size_t i, const char* flag) {
    return t.integer(flag, 0) != 0 ? transposed(t.input(i)) : t.input(i);
  };
  t.must(t.rank(0) == 2 && t.rank(1) == 2, "of tensors that are no matrices");
  const double alpha = t.real("alpha", 1);
  const double beta = t.real("beta", 1);
  if (!t.has_input(2)) {
    t.must(alpha == 1, "with alpha and without C");
    t.op("mm");
    t.tensor("self", operand(0, "transA"));
    t.tensor("mat2", operand(1, "transB"));
  } else {
    t.tensor("self", 2);
    t.tensor("mat1", operand(0, "transA"));
    t.tensor("mat2", operand(1, "transB"));
    t.real_argument("beta", beta);
    t.real_argument("alpha", alpha);
  }
  t.result(0);
}

// Running statistics are updated by other rules than ATen's: of training only the first result is compared.
void batch_norm(Translation& t) {
  const bool training = t.integer("training_mode", 0) != 0;
  t.must(t.opset() >= 9 || !t.has("spatial"), "that is not spatial");
  t.tensor("input", 0);
  t.tensor("weight", 1);
  t.tensor("bias", 2);
  if (training) {
    t.add("running_mean", "none");
    t.add("running_var", "none");
  } else {
    t.tensor("running_mean", 3);
    t.tensor("running_var", 4);
  }
  t.flag("training", training);
  t.real_argument("momentum", 1 - t.real("momentum", static_cast<double>(0.9f)));
  t.real_argument("eps", t.real("epsilon", static_cast<double>(1e-5f)));
  t.result(0, "out0");
}

void layer_norm(Translation& t) {
  const auto rank = static_cast<std::int64_t>(t.rank());
  const std::int64_t axis = t.integer("axis", -1);
  t.must(-rank <= axis && axis < rank, "along an axis that its input has not");
  const Shape& shape = t.input(0).shape;
  t.tensor("input", 0);
  t.ints("normalized_shape", Ints(shape.begin() + (axis < 0 ? axis + rank : axis), shape.end()));
  t.tensor("weight", 1);
  t.tensor_or_none("bias", 2);
  t.real_argument("eps", t.real("epsilon", static_cast<double>(1e-5f)));
  for (std::size_t i = 0; i < 3; ++i) t.result(i, fmt::format("out{}", i));
}

// A group of one channel each.
void instance_norm(Translation& t) {
  t.must(t.rank() >= 3, "of less than three dimensions");
  const Shape& shape = t.input(0).shape;
  t.tensor("input", 0);
  t.tensor("weight", 1);
  t.tensor("bias", 2);
  t.integer_argument("N", shape[0]);
  t.integer_argument("C", shape[1]);
  t.integer_argument("HxW",
                     std::accumulate(shape.begin() + 2, shape.end(), std::int64_t{1}, std::multiplies<>()));
  t.integer_argument("group", shape[1]);
  t.real_argument("eps", t.real("epsilon", static_cast<double>(1e-5f)));
  t.result(0, "out0");
}

void quantize(Translation& t) {
  t.tensor("self", 0);
  t.real_argument("scale", t.number(1));
  t.integer_argument("zero_point", t.has_input(2) ? t.one_integer(2) : 0);
  t.add("dtype", name(t.has_input(2) ? t.input(2).dtype : Dtype::u8));
  t.result(0);
}

void dequantize(Translation& t) {
  t.tensor("self", 0);
  t.real_argument("scale", t.number(1));
  t.integer_argument("zero_point", t.has_input(2) ? t.one_integer(2) : 0);
  t.result(0);
}

void where(Translation& t) {
  t.tensor("condition", 0);
  t.tensor("self", 1);
  t.tensor("other", 2);
  t.result(0);
}

// The dtype of the second one need not be that of the first, which the result has.
void power(Translation& t) {
  t.must(t.input(0).dtype == t.input(1).dtype, "of two dtypes");
  t.tensor("self", 0);
  t.tensor("exponent", 1);
  t.result(0);
}

void modulo(Translation& t) {
  if (t.integer("fmod", 0) != 0) t.op("fmod.Tensor");
  t.tensor("self", 0);
  t.tensor("other", 1);
  t.result(0);
}

void is_inf(Translation& t) {
  t.must(t.integer("detect_negative", 1) == 1 && t.integer("detect_positive", 1) == 1, "of one sign");
  t.tensor("self", 0);
  t.result(0);
}

void gather(Translation& t) {
  const std::vector<double> indices = t.numbers(1);
  t.must(t.integer("axis", 0) == 0 && t.rank() == 2, "of other than rows of a matrix");
  t.must(std::ranges::none_of(indices, [](double i) { return i < 0; }), "with negative indices");
  t.tensor("weight", 0);
  t.tensor("indices", 1);
  t.result(0);
}

// ---- The table --------------------------------------------------------------------------------------------

// Results of functions, by who computed them. ONNX's own: scripts (onnx/backend/test/case/node/*.py) with NumPy, mostly in
// f32; its version is not recorded, and these are the largest errors that any of them documents.
#define ASSAY_NUMPY "NumPy 1.17 release notes: float32 exp and log by AVX are within 2.52 and 3.83 ulp"
constexpr std::string_view kExp = "exp=3ulp -- " ASSAY_NUMPY;
constexpr std::string_view kLog = "log=4ulp -- " ASSAY_NUMPY;
constexpr std::string_view kExpLog = "exp=3ulp log=4ulp -- " ASSAY_NUMPY;
// exp(x) - 1: 3 ulp of a number below 1 and the rounding of the difference.
constexpr std::string_view kExpm1 =
    "expm1=1ulp+1.8e-7abs -- node/elu.py, selu.py, celu.py: exp(x) - 1 in f32, " ASSAY_NUMPY;
// log(exp(x) + 1): the sum is rounded, by up to 2^-24 of itself, which the logarithm makes absolute.
constexpr std::string_view kLog1p =
    "exp=3ulp log1p=4ulp+6e-8abs -- node/softplus.py: log(exp(x) + 1) in f32, " ASSAY_NUMPY;
constexpr std::string_view kTanh =
    "tanh=4ulp -- NumPy 1.22 release notes: float32 functions by SVML are within 4 ulp";
constexpr std::string_view kMish =
    "exp=3ulp log1p=4ulp tanh=4ulp -- node/mish.py: NumPy 1.22 release notes, float32 functions by SVML are within 4 ulp";
constexpr std::string_view kPow =
    "pow=4ulp -- NumPy 1.22 release notes: float32 functions by SVML are within 4 ulp";
// As the models say, by PyTorch 0.3.
constexpr std::string_view kLibm =
    "exp=1ulp log=1ulp log1p=1ulp tanh=2ulp -- TH/generic/THTensorMath.c calls libm: GNU C Library manual, \"Known Maximum "
    "Errors in Math Functions\", x86_64";

struct Entry {
  std::string_view onnx;
  std::string_view op;
  std::string_view contract;
  void (*translate)(Translation&);
};

void one(Translation& t) {
  t.tensor("self", 0);
  t.result(0);
}

const std::array kEntries{
    Entry{"Abs", "abs", "", one},
    Entry{"Acos", "acos", "acos=4ulp -- NumPy 1.22 release notes: float32 functions by SVML are within 4 ulp",
          one},
    Entry{"Add", "add.Tensor", "", two},
    Entry{"And", "logical_and", "", two},
    Entry{"ArgMax", "argmax", "", arg_max},
    Entry{"Asin", "asin", "asin=4ulp -- NumPy 1.22 release notes: float32 functions by SVML are within 4 ulp",
          one},
    Entry{"Atan", "atan", "atan=4ulp -- NumPy 1.22 release notes: float32 functions by SVML are within 4 ulp",
          one},
    Entry{"AveragePool", "avg_pool2d", "", average_pool},
    Entry{"BatchNormalization", "native_batch_norm", "", batch_norm},
    Entry{"BitwiseAnd", "bitwise_and.Tensor", "", two},
    Entry{"BitwiseNot", "bitwise_not", "", one},
    Entry{"BitwiseOr", "bitwise_or.Tensor", "", two},
    Entry{"BitwiseXor", "bitwise_xor.Tensor", "", two},
    Entry{"Ceil", "ceil", "", one},
    Entry{"Celu", "elu", kExpm1, celu},
    Entry{"Clip", "clamp", "", clip},
    Entry{"Conv", "convolution", "", [](Translation& t) { convolution(t, false); }},
    Entry{"ConvTranspose", "convolution", "", [](Translation& t) { convolution(t, true); }},
    Entry{"Cos", "cos", "cos=4ulp -- NumPy 1.22 release notes: float32 functions by SVML are within 4 ulp",
          one},
    Entry{"CumSum", "cumsum", "", cumsum},
    Entry{"DequantizeLinear", "dequantize_per_tensor", "", dequantize},
    Entry{"Div", "div.Tensor", "", two},
    Entry{"Elu", "elu", kExpm1,
          [](Translation& t) {
            t.tensor("self", 0);
            t.real_argument("alpha", t.real("alpha", 1));
            t.result(0);
          }},
    Entry{"Equal", "eq.Tensor", "", two},
    Entry{"Erf", "erf", "", one},
    Entry{"Exp", "exp", kExp, one},
    Entry{"Floor", "floor", "", one},
    Entry{"Gather", "embedding", "", gather},
    Entry{"Gemm", "addmm", "", gemm},
    Entry{"GlobalAveragePool", "mean.dim", "", global_pool},
    Entry{"GlobalMaxPool", "amax", "", global_pool},
    Entry{"Greater", "gt.Tensor", "", two},
    Entry{"GreaterOrEqual", "ge.Tensor", "", two},
    // onnx/defs/nn/defs.cc gives it a body with a constant for 1/6.
    Entry{"HardSwish", "hardswish", "",
          [](Translation& t) { t.must(false, "multiplies by 0.16666667163372 where ATen divides by 6"); }},
    Entry{"Identity", "clone", "", one},
    Entry{"InstanceNormalization", "native_group_norm", "", instance_norm},
    Entry{"LayerNormalization", "native_layer_norm", "", layer_norm},
    Entry{"LeakyRelu", "leaky_relu", "",
          [](Translation& t) {
            t.tensor("self", 0);
            t.real_argument("negative_slope", t.real("alpha", static_cast<double>(0.01f)));
            t.result(0);
          }},
    Entry{"Log", "log", kLog, one},
    Entry{"LogSoftmax", "log_softmax.int", kExpLog, softmax},
    Entry{"MatMul", "mm", "", mat_mul},
    Entry{"Max", "maximum", "", two},
    Entry{"MaxPool", "max_pool2d", "", max_pool},
    Entry{"Mul", "mul.Tensor", "", two},
    Entry{"PRelu", "prelu", "", prelu},
    Entry{"QuantizeLinear", "quantize_per_tensor", "", quantize},
    Entry{"ReduceMax", "amax", "", reduce},
    Entry{"ReduceMean", "mean.dim", "", reduce},
    Entry{"ReduceSum", "sum.dim_IntList", "", reduce},
    Entry{"Relu", "relu", "", one},
    Entry{"Resize", "upsample_nearest2d", "", resize},
    Entry{"Selu", "elu", kExpm1, selu},
    Entry{"Sigmoid", "sigmoid", kExp, one},
    Entry{"Softmax", "softmax.int", kExp, softmax},
    Entry{"Softplus", "softplus", kLog1p, one},
    Entry{"Sqrt", "sqrt", "", one},
    Entry{"Sub", "sub.Tensor", "", two},
    Entry{"Sum", "add.Tensor", "", two},
    Entry{"Tanh", "tanh", kTanh, one},
    Entry{"Upsample", "upsample_nearest2d", "", resize},
    Entry{"Where", "where.self", "", where},
    Entry{"IsInf", "isinf", "", is_inf},
    Entry{"IsNaN", "isnan", "", one},
    Entry{"Less", "lt.Tensor", "", two},
    Entry{"LessOrEqual", "le.Tensor", "", two},
    Entry{"Min", "minimum", "", two},
    Entry{"Mish", "mish", kMish, one},
    Entry{"Mod", "remainder.Tensor", "", modulo},
    Entry{"Neg", "neg", "", one},
    Entry{"Not", "logical_not", "", one},
    Entry{"Or", "logical_or", "", two},
    Entry{"Pow", "pow.Tensor_Tensor", kPow, power},
    Entry{"Reciprocal", "reciprocal", "", one},
    Entry{"Round", "round", "", one},
    Entry{"Sign", "sign", "", one},
    Entry{"Sin", "sin", "sin=4ulp -- NumPy 1.22 release notes: float32 functions by SVML are within 4 ulp",
          one},
    Entry{"Xor", "logical_xor", "", two},
};

}  // namespace

RecordedCall call_of(const Example& example) {
  const auto* entry = std::ranges::find(kEntries, example.node.op_type, &Entry::onnx);
  if (entry == kEntries.end() || !(example.node.domain.empty() || example.node.domain == "ai.onnx"))
    throw Unmapped("of an operator that Assay has not");
  Translation t(example);
  t.op(entry->op);
  entry->translate(t);
  RecordedCall call = t.finish();
  if (call.outputs.empty()) throw Unmapped("no result is recorded that Assay's operator has");
  if (!entry->contract.empty()) call.contract = example.by_numpy ? entry->contract : kLibm;
  return call;
}

}  // namespace assay::onnx

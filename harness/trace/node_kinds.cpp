#include "node_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <vector>

namespace assay {
namespace {

// In small letters, without what separates words: "GlobalAveragePool" and "global_average_pool" are one.
std::string plain(std::string_view name) {
  std::string s;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      s += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string_view base(std::string_view op) { return op.substr(0, op.find('.')); }

struct Kind {
  std::string_view call;
  std::vector<std::string_view> nodes, parts;  // plain names, of ONNX, OpenVINO and ncnn
};

const std::map<std::string, Kind, std::less<>>& kinds() {
  static const std::map<std::string, Kind, std::less<>> all = [] {
    const std::vector<Kind> list{
        {"convolution",
         {"conv", "fusedconv", "convtranspose", "convolution", "groupconvolution", "convolutionbackpropdata",
          "groupconvolutionbackpropdata", "convolutiondepthwise", "deconvolution", "deconvolutiondepthwise", "convolution1d",
          "convinteger", "qlinearconv"},
         {"add"}},
        {"addmm", {"gemm", "fusedgemm", "innerproduct", "fullyconnected", "linear", "qgemm"}, {"matmul", "fusedmatmul", "add"}},
        {"linear", {"gemm", "fusedgemm", "innerproduct", "fullyconnected", "linear", "qgemm"}, {"matmul", "fusedmatmul", "add"}},
        {"mm", {"matmul", "fusedmatmul", "gemm", "innerproduct", "fullyconnected", "qlinearmatmul"}, {}},
        {"bmm", {"matmul", "fusedmatmul", "qlinearmatmul", "einsum"}, {}},
        {"native_batch_norm", {"batchnormalization", "batchnorm", "batchnorminference", "instancenormalization"}, {"mul", "add"}},
        {"native_layer_norm", {"layernormalization", "layernorm", "mvn", "skiplayernormalization"}, {"mul", "add", "div", "sub"}},
        {"native_group_norm", {"groupnormalization", "groupnorm", "instancenormalization"}, {"mul", "add", "reshape"}},
        {"max_pool2d_with_indices", {"maxpool", "pooling", "globalmaxpool"}, {}},
        {"max_pool2d", {"maxpool", "pooling", "globalmaxpool"}, {}},
        {"avg_pool2d", {"averagepool", "avgpool", "pooling", "globalaveragepool"}, {}},
        {"_adaptive_avg_pool2d", {"averagepool", "avgpool", "pooling", "globalaveragepool", "reducemean"}, {}},
        {"mean", {"reducemean", "globalaveragepool", "reduction", "pooling", "averagepool"}, {}},
        {"sum", {"reducesum", "reduction"}, {}},
        {"amax", {"reducemax", "globalmaxpool", "reduction"}, {}},
        {"argmax", {"argmax", "topk"}, {"cast"}},
        {"relu", {"relu"}, {"clip"}},
        {"prelu", {"prelu"}, {}},
        {"leaky_relu", {"leakyrelu", "relu"}, {}},
        {"hardswish", {"hardswish", "hswish"}, {"mul", "div", "hardsigmoid"}},
        {"hardsigmoid", {"hardsigmoid", "hsigmoid"}, {"div", "clip"}},
        {"silu", {"silu", "swish"}, {"mul", "sigmoid"}},
        {"gelu", {"gelu", "fastgelu", "biasgelu"}, {"mul", "erf", "tanh", "add"}},
        {"sigmoid", {"sigmoid", "logistic"}, {}},
        {"softmax", {"softmax"}, {}},
        {"log_softmax", {"logsoftmax"}, {"sub", "log"}},
        {"clamp", {"clip", "clamp", "min", "max", "minimum", "maximum"}, {}},
        {"hardtanh", {"clip", "clamp"}, {}},
        {"embedding", {"gather", "embed"}, {}},
        {"upsample_nearest2d", {"resize", "upsample", "interp", "interpolate"}, {}},
        {"upsample_bilinear2d", {"resize", "upsample", "interp", "interpolate"}, {}},
        {"cat", {"concat"}, {}},
        {"add", {"add", "sum", "eltwise", "binaryop"}, {}},
        {"sub", {"sub", "subtract", "eltwise", "binaryop"}, {"add", "neg"}},
        {"mul", {"mul", "multiply", "eltwise", "binaryop"}, {}},
        {"div", {"div", "divide", "eltwise", "binaryop"}, {"mul", "reciprocal"}},
        {"maximum", {"max", "maximum", "eltwise", "binaryop"}, {}},
        {"minimum", {"min", "minimum", "eltwise", "binaryop"}, {}},
        {"pow", {"pow", "power", "sqr", "unaryop", "binaryop"}, {"mul", "sqrt"}},
        {"rsqrt", {"rsqrt", "unaryop"}, {"reciprocal", "div", "sqrt", "pow"}},
        {"where", {"where", "select"}, {}},
        {"masked_fill", {"where", "select"}, {}},
        {"clone", {"identity", "transpose", "reshape", "expand", "permute", "broadcast"}, {}},
        {"lstm", {"lstm", "lstmsequence"}, {"squeeze", "transpose"}},
        {"gru", {"gru", "grusequence"}, {"squeeze", "transpose"}},
        {"quantize_per_tensor", {"quantizelinear", "fakequantize", "quantize"}, {}},
        {"dequantize_per_tensor", {"dequantizelinear", "dequantize"}, {}},
    };
    std::map<std::string, Kind, std::less<>> by_call;
    for (const Kind& k : list) by_call.emplace(k.call, k);
    return by_call;
  }();
  return all;
}

const Kind* kind_of(std::string_view call) {
  std::string_view name = base(call);
  for (const std::string_view before : {"_native_batch_norm", "mkldnn_rnn_layer"})
    if (name.starts_with(before)) name = before == "mkldnn_rnn_layer" ? "lstm" : "native_batch_norm";
  if (name == "_softmax" || name == "_log_softmax") name.remove_prefix(1);
  const auto found = kinds().find(name);
  return found == kinds().end() ? nullptr : &found->second;
}

// Names of nodes that stand for some operator that this file knows.
bool is_known_node(const std::string& node) {
  static const std::set<std::string, std::less<>> all = [] {
    std::set<std::string, std::less<>> names;
    for (const auto& [call, kind] : kinds()) names.insert(kind.nodes.begin(), kind.nodes.end());
    return names;
  }();
  return all.contains(node);
}

}  // namespace

Fit fit_of(std::string_view call, std::string_view node) {
  const std::string other = plain(node);
  const Kind* const kind = kind_of(call);
  if (plain(base(call)) == other) return Fit::yes;
  if (kind == nullptr) return is_known_node(other) && !hands_on(node) ? Fit::no : Fit::unknown;
  if (std::ranges::find(kind->nodes, other) != kind->nodes.end()) return Fit::yes;
  if (std::ranges::find(kind->parts, other) != kind->parts.end()) return Fit::part;
  return is_known_node(other) || hands_on(node) ? Fit::no : Fit::unknown;
}

bool hands_on(std::string_view node) {
  static const std::set<std::string, std::less<>> all{
      "reshape", "transpose", "permute",          "flatten",  "squeeze",        "unsqueeze", "identity", "cast",
      "convert", "expand",    "dequantizelinear", "dropout", "quantizelinear", "split",     "copy",     "noop"};
  return all.contains(plain(node));
}

bool takes_part(std::string_view node) {
  static const std::set<std::string, std::less<>> all{"slice", "stridedslice", "gather", "crop"};
  return all.contains(plain(node));
}

bool is_known_call(std::string_view call) { return kind_of(call) != nullptr; }

bool rounds(std::string_view node) {
  static const std::set<std::string, std::less<>> all{"cast", "convert", "dequantizelinear", "quantizelinear", "fakequantize"};
  return all.contains(plain(node));
}

bool is_dequantizing(std::string_view node) { return plain(node) == "dequantizelinear"; }

int input_of(std::string_view call, std::string_view argument, std::string_view node) {
  static const std::map<std::string, std::vector<std::string_view>, std::less<>> orders{
      {"convolution", {"input", "weight", "bias"}},
      {"addmm", {"mat1", "mat2", "self"}},
      {"linear", {"input", "weight", "bias"}},
      {"mm", {"self", "mat2"}},
      {"bmm", {"self", "mat2"}},
      {"native_batch_norm", {"input", "weight", "bias", "running_mean", "running_var"}},
      {"native_layer_norm", {"input", "weight", "bias"}},
      {"native_group_norm", {"input", "weight", "bias"}},
      {"prelu", {"self", "weight"}},
      {"embedding", {"weight", "indices"}},
      {"lstm", {"input"}},
      {"gru", {"input"}},
      {"where", {"condition", "self", "other"}},
      {"add", {"self", "other"}},
      {"sub", {"self", "other"}},
      {"mul", {"self", "other"}},
      {"div", {"self", "other"}},
      {"maximum", {"self", "other"}},
      {"minimum", {"self", "other"}},
  };
  const Fit fit = fit_of(call, node);
  const bool product = plain(node) == "matmul" || plain(node) == "fusedmatmul";  // of a linear layer, whose bias is added afterwards
  if (fit != Fit::yes && !(fit == Fit::part && product)) return -1;
  const Kind* const kind = kind_of(call);
  const auto order = orders.find(kind == nullptr ? base(call) : kind->call);
  if (order == orders.end()) return argument == "self" || argument == "input" ? 0 : -1;
  const auto at = std::ranges::find(order->second, argument);
  if (at == order->second.end() || (product && at - order->second.begin() > 1)) return -1;
  return static_cast<int>(at - order->second.begin());
}

}  // namespace assay

// A variant as a kernel: the reference, computed in the worker process with what the variant changes.
#include <cstring>
#include <deque>
#include <memory>

#include "stateful.h"
#include "variant.h"
#include "vocabulary/kernel.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

struct Planted {
  const Operator* op;
  Variant variant;
};

// A copy of a tensor, gaps between its strides included.
TensorData copied(const assay_tensor& t) {
  TensorData copy;
  copy.dtype = *dtype_of(t.dtype);
  copy.shape.assign(t.shape, t.shape + t.ndim);
  copy.strided.strides.assign(t.strides, t.strides + t.ndim);
  std::int64_t span = 1;
  for (int d = 0; d < t.ndim; ++d) span += t.shape[d] > 0 ? (t.shape[d] - 1) * t.strides[d] : 0;
  copy.strided.span = copy.numel() == 0 ? 0 : span;
  copy.memory.resize(static_cast<std::size_t>(copy.strided.span * bytes(copy.dtype)));
  const auto* from = static_cast<const std::byte*>(t.data);
  for (std::int64_t i = 0; i < copy.numel(); ++i) {
    std::byte* to = copy.element(i);
    std::memcpy(to, from + (to - copy.memory.data()), static_cast<std::size_t>(bytes(copy.dtype)));
  }
  return copy;
}

CallValue copied(const assay_value& v) {
  switch (v.kind) {
    case ASSAY_KIND_TENSOR:
      return copied(*v.as.tensor);
    case ASSAY_KIND_INT:
      return v.as.integer;
    case ASSAY_KIND_DOUBLE:
      return v.as.real;
    case ASSAY_KIND_BOOL:
      return v.as.integer != 0;
    case ASSAY_KIND_STRING:
      return std::string(v.as.string);
    case ASSAY_KIND_DTYPE:
      return *dtype_of(v.as.dtype);
    case ASSAY_KIND_INTS:
    case ASSAY_KIND_BOOLS:
      return std::vector<std::int64_t>(v.as.integers, v.as.integers + v.count);
    case ASSAY_KIND_DOUBLES:
      return std::vector<double>(v.as.reals, v.as.reals + v.count);
    case ASSAY_KIND_MEMORY_FORMAT:
      return static_cast<MemoryFormat>(v.as.integer);
    case ASSAY_KIND_TENSORS: {
      std::vector<TensorData> list;
      for (std::uint32_t i = 0; i < v.count; ++i) list.push_back(copied(*v.as.tensors[i]));
      return list;
    }
    default:
      return None{};
  }
}

void store_all(const VariantResult& r, const assay_tensor& out) {
  const Dtype dtype = r.dtype == Dtype::boolean ? Dtype::u8 : r.dtype;  // bytes that are no truth values, too
  for (std::size_t i = 0; i < r.stored; ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at = 0;
    for (int d = out.ndim; d-- > 0;) {
      at += rest % out.shape[d] * out.strides[d];
      rest /= out.shape[d];
    }
    void* element = static_cast<std::byte*>(out.data) + at * bytes(r.dtype);
    if (r.integers.empty())
      store(element, dtype, r.values[i]);
    else
      store_integer(element, dtype, r.integers[i]);
  }
}

int store_zeros(const assay_call& c) {
  for (std::uint32_t k = 0; k < c.output_count; ++k) {
    VariantResult zeros;
    zeros.dtype = *dtype_of(c.outputs[k]->dtype);
    zeros.stored = static_cast<std::size_t>(static_cast<const View&>(*c.outputs[k]).numel());
    zeros.values.resize(zeros.stored);
    store_all(zeros, *c.outputs[k]);
  }
  return ASSAY_OK;
}

int run(const assay_call* c) {
  const auto& planted = *static_cast<const Planted*>(c->kernel->context);
  const Operator& op = *planted.op;
  const Variant& v = planted.variant;
  const Checked checked = check_arguments(op, {c->arguments, c->argument_count});
  if (!checked.ok()) {
    if (v.accepts_anything && (v.blamed.empty() || v.blamed == checked.argument)) return store_zeros(*c);
    return refuse(c, checked.error.c_str());
  }
  if (v.first) {
    const int code = v.first(*c);
    if (code != ASSAY_OK) return code;
  }
  Call call;
  call.op = &op;
  for (std::uint32_t i = 0; i < c->argument_count; ++i) call.arguments.push_back(copied(c->arguments[i]));
  call.outputs = checked.outputs;
  const int in_place = op.in_place.empty() ? -1 : op.schema.find(op.in_place);
  if (in_place >= 0 && c->arguments[in_place].as.tensor->data == c->outputs[0]->data)
    call.in_place = in_place;
  if (change_arguments(v, call))
    std::snprintf(c->information, c->information_capacity, "%s", kPlantedHere.data());
  const std::vector<VariantResult> results = results_of(v, call);
  for (std::size_t k = 0; k < results.size(); ++k) store_all(results[k], *c->outputs[k]);
  if (v.last) v.last(*c);
  return ASSAY_OK;
}

int run_zeros(const assay_call* c) {
  const auto& op = *static_cast<const Operator*>(c->kernel->context);
  const Checked checked = check_arguments(op, {c->arguments, c->argument_count});
  return checked.ok() ? store_zeros(*c) : refuse(c, checked.error.c_str());
}

assay_kernel kernel_of(const Operator& op, const char* name, int (*run)(const assay_call*),
                       const void* context) {
  assay_kernel k{};
  k.size = sizeof(assay_kernel);
  k.flags = ASSAY_CHECKS_ARGUMENTS;
  k.schema = op.schema.text.data();
  k.name = name;
  k.run = run;
  k.context = context;
  return k;
}

}  // namespace

WorkerTable variants_table() {
  static std::deque<Planted> planted;
  WorkerTable table;
  for (const Operator* op : operators()) {
    table.kernels.push_back(kernel_of(*op, kZeros.data(), run_zeros, op));
    for (const assay_kernel& k : stateful_kernels(*op)) table.kernels.push_back(k);
    for (Variant& variant : variants_of(*op)) {
      const Planted& p = planted.emplace_back(Planted{op, std::move(variant)});
      table.kernels.push_back(kernel_of(*op, p.variant.name.c_str(), run, &p));
    }
  }
  return table;
}

}  // namespace assay

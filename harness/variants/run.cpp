// A variant as a kernel: the reference, computed in the worker process with what the variant changes.
#include <cstring>
#include <deque>
#include <memory>

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

bool fits(const Checked& checked, const assay_call& c) {
  if (!checked.ok() || checked.outputs.size() != c.output_count) return false;
  for (std::uint32_t k = 0; k < c.output_count; ++k) {
    const assay_tensor& out = *c.outputs[k];
    if (checked.outputs[k].dtype != *dtype_of(out.dtype) ||
        !std::ranges::equal(checked.outputs[k].shape,
                            std::span(out.shape, static_cast<std::size_t>(out.ndim))))
      return false;
  }
  return true;
}

std::vector<VariantResult> computed(const Planted& planted, const Call& call,
                                    const std::vector<Checked::Output>& outputs) {
  const Variant& v = planted.variant;
  const Reference* reference = v.formula != nullptr ? v.formula : find_reference(planted.op->schema.name);
  const Arguments arguments(call);
  const std::unique_ptr<Evaluation> evaluation = reference->evaluate(arguments.values(), outputs);
  std::vector<VariantResult> results;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    VariantResult& r = results.emplace_back();
    r.dtype = outputs[k].dtype;
    r.shape = outputs[k].shape;
    std::size_t n = 1;
    for (const std::int64_t size : r.shape) n *= static_cast<std::size_t>(size);
    const int output = static_cast<int>(k);
    r.integers.resize(n);
    r.stored = n;
    if (evaluation->integers(output, r.integers)) continue;
    r.integers.clear();
    r.values.resize(n);
    if (v.contract.empty()) {
      evaluation->values(output, r.values);
      continue;
    }
    const Contract contract = parse_contract(v.contract, outputs[k].computed_in);
    for (std::size_t i = 0; i < n; ++i)
      r.values[i] = evaluation->attacked(output, static_cast<std::int64_t>(i), contract, v.attack);
  }
  return results;
}

void store_all(const VariantResult& r, const assay_tensor& out) {
  for (std::size_t i = 0; i < r.stored; ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at = 0;
    for (int d = out.ndim; d-- > 0;) {
      at += rest % out.shape[d] * out.strides[d];
      rest /= out.shape[d];
    }
    void* element = static_cast<std::byte*>(out.data) + at * bytes(r.dtype);
    if (r.integers.empty())
      store(element, r.dtype, r.values[i]);
    else
      store_integer(element, r.dtype, r.integers[i]);
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
  if (v.arguments) {
    Call changed = call;
    if (v.arguments(changed, *c)) {
      if (v.keeps_shapes || fits(check_arguments(op, Arguments(changed).values()), *c)) {
        call = std::move(changed);
        std::snprintf(c->information, c->information_capacity, "%s", kPlantedHere.data());
      }
    }
  }
  std::vector<VariantResult> results = computed(planted, call, checked.outputs);
  if (v.results) v.results(results, call);
  for (std::size_t k = 0; k < results.size(); ++k) store_all(results[k], *c->outputs[k]);
  if (v.last) v.last(*c);
  return ASSAY_OK;
}

}  // namespace

WorkerTable variants_table() {
  static std::deque<Planted> planted;
  WorkerTable table;
  for (const Operator* op : operators())
    for (Variant& variant : variants_of(*op)) {
      const Planted& p = planted.emplace_back(Planted{op, std::move(variant)});
      assay_kernel k{};
      k.size = sizeof(assay_kernel);
      k.flags = ASSAY_CHECKS_ARGUMENTS;
      k.schema = op->schema.text.data();
      k.name = p.variant.name.c_str();
      k.run = run;
      k.context = &p;
      table.kernels.push_back(k);
    }
  return table;
}

}  // namespace assay

#include "inputs.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "view.h"

namespace assay {
namespace {

std::int64_t converted(std::int64_t x, Dtype to) {
  std::int64_t memory = 0;
  store_integer(&memory, to, x);
  return load_integer(&memory, to);
}

Decoded decode(const assay_tensor& tensor, std::optional<Dtype> convert) {
  const View& view = static_cast<const View&>(tensor);
  if (view.rank() > kMaxRank)
    throw std::invalid_argument(
        fmt::format("a tensor has {} dimensions; references take up to {}", view.rank(), kMaxRank));
  Decoded d;
  d.dtype = view.type();
  d.element_bytes = bytes(d.dtype);
  d.shape.assign(view.sizes().begin(), view.sizes().end());
  if (convert) d.dtype = *convert;
  if (tensor.data == nullptr) return d;
  d.dtype = view.type();
  const auto numel = static_cast<std::size_t>(view.numel());
  const auto* base = static_cast<const std::byte*>(tensor.data);
  const int element = bytes(d.dtype);
  d.values.resize(numel);
  if (!is_float(d.dtype)) d.integers.resize(numel);
  const auto decode_at = [&](std::size_t n, const std::byte* at) {
    if (is_float(d.dtype)) {
      const double x = load(at, d.dtype);
      d.values[n] = convert ? round_to(x, format(*convert)) : x;
      return;
    }
    const std::int64_t integer = load_integer(at, d.dtype);
    d.integers[n] = convert && !is_float(*convert) ? converted(integer, *convert) : integer;
    const auto x = static_cast<double>(d.integers[n]);
    d.values[n] = convert ? round_to(x, format(*convert)) : x;
  };
  if (is_float(d.dtype) && !convert && view.contiguous()) {
    load_all(base, d.dtype, d.values);
  } else {
    const int last = view.rank() - 1;
    std::int64_t at = 0;
    for (Index i(d.shape, 0); i.number() < view.numel(); i.step()) {
      if (last >= 0 && i[last] != 0) {
        at += view.stride(last);
      } else {
        at = 0;
        for (int k = 0; k < last; ++k) at += i[k] * view.stride(k);
      }
      decode_at(static_cast<std::size_t>(i.number()), base + at * element);
    }
  }
  if (convert) d.dtype = *convert;
  return d;
}

}  // namespace

Inputs::Inputs(const Operator& op, std::span<const assay_value> arguments,
               std::span<const Checked::Output> outputs, bool wide)
    : op_(op),
      tensors_(arguments.size()),
      values_(arguments.begin(), arguments.end()),
      outputs_(outputs.begin(), outputs.end()) {
  std::optional<Dtype> convert;
  if (op.dtype_rule != DtypeRule::same && !outputs.empty()) convert = outputs[0].computed_in;
  const auto read = [&](std::size_t i, const assay_tensor* tensor) {
    if (tensor == nullptr) return;
    const Dtype own = static_cast<const View*>(tensor)->type();
    // What the operator itself makes integers of is no conversion (quantize_per_tensor).
    const bool stays =
        convert && (own == *convert || own == Dtype::boolean || (is_float(own) && !is_float(*convert)));
    const bool narrows = !stays && convert && is_float(own) &&
                         (*convert == Dtype::f16 || *convert == Dtype::bf16) && bytes(own) > bytes(*convert);
    narrows_ |= narrows;
    tensors_[i].push_back(decode(*tensor, stays             ? std::nullopt
                                          : narrows && wide ? std::optional(Dtype::f32)
                                                            : convert));
  };
  for (std::size_t i = 0; i < values_.size(); ++i) {
    assay_value& v = values_[i];
    switch (v.kind) {
      case ASSAY_KIND_TENSOR:
        read(i, v.as.tensor);
        v.as.tensor = nullptr;
        break;
      case ASSAY_KIND_TENSORS:
        for (std::uint32_t k = 0; k < v.count; ++k) read(i, v.as.tensors[k]);
        v.as.tensors = nullptr;
        break;
      case ASSAY_KIND_INT:
        if (op.in_integers && op.schema.argument_storage[i].type == Type::scalar && !outputs.empty() &&
            !is_float(outputs[0].computed_in))
          v.as.integer = converted(v.as.integer, outputs[0].computed_in);
        break;
      case ASSAY_KIND_DOUBLE:
        if (op.truths != 0 && op.schema.argument_storage[i].type == Type::scalar && !outputs.empty())
          v.as.real = round_to(v.as.real, format(outputs[0].computed_in));
        break;
      case ASSAY_KIND_INTS:
      case ASSAY_KIND_BOOLS:
        v.as.integers = integers_.emplace_back(v.as.integers, v.as.integers + v.count).data();
        break;
      case ASSAY_KIND_DOUBLES:
        v.as.reals = reals_.emplace_back(v.as.reals, v.as.reals + v.count).data();
        break;
      case ASSAY_KIND_STRING:
        v.as.string = texts_.emplace_back(v.as.string).c_str();
        break;
      default:
        break;
    }
  }
}

}  // namespace assay

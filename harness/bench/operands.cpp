#include "operands.h"

#include <algorithm>
#include <cstring>

#include "../model/strided_copy.h"
#include "../run/page.h"

namespace assay {
namespace {

constexpr std::size_t kCacheLine = 64;

// With room for where in a page it begins.
std::size_t room(std::size_t bytes) { return round_up(bytes, kCacheLine) + kPage; }

struct Out {
  Strided strided;
  std::size_t bytes;
};
Out out_of(const Call& call, std::size_t o) {
  Strided s = strided(call.outputs[o].shape, call.output_layouts[o]);
  const std::size_t bytes = static_cast<std::size_t>(s.offset + s.span) *
                            static_cast<std::size_t>(assay::bytes(call.outputs[o].dtype));
  return {std::move(s), bytes};
}

template <class Each>
void each_tensor(const Call& call, const Each& each) {
  for (const CallValue& value : call.arguments) {
    if (const auto* t = std::get_if<TensorData>(&value)) each(*t);
    if (const auto* list = std::get_if<std::vector<TensorData>>(&value))
      for (const TensorData& t : *list) each(t);
  }
}

}  // namespace

std::size_t Operands::bytes(const Call& call) {
  std::size_t total = 0;
  each_tensor(call, [&](const TensorData& t) { total += room(t.memory.size()); });
  for (std::size_t o = 0; o < call.outputs.size(); ++o) total += room(out_of(call, o).bytes);
  return total;
}

Operands::Operands(const Call& call, std::mt19937_64& random) : memory_(bytes(call)) {
  std::byte* next = memory_.data();
  const auto take = [&](std::size_t n) {
    std::byte* const begin = next + random() % (kPage / kCacheLine) * kCacheLine;
    next += room(n);
    return begin;
  };

  arguments_ = std::make_unique<Arguments>(call);
  values_.assign(arguments_->values().begin(), arguments_->values().end());
  const auto moved = [&](const assay_tensor& original, const TensorData& data) {
    std::byte* const to = take(data.memory.size());
    std::ranges::copy(data.memory, to);
    tensors_.push_back(std::make_unique<assay_tensor>(original));
    tensors_.back()->data = to + (static_cast<const std::byte*>(original.data) - data.memory.data());
    inputs_.emplace_back(to, data.memory.size());
    input_memory_.push_back(to);
    return tensors_.back().get();
  };
  for (std::size_t i = 0; i < values_.size() && i < call.arguments.size(); ++i) {
    if (const auto* t = std::get_if<TensorData>(&call.arguments[i]))
      values_[i].as.tensor = moved(*values_[i].as.tensor, *t);
    if (const auto* list = std::get_if<std::vector<TensorData>>(&call.arguments[i])) {
      lists_.emplace_back();
      for (std::size_t k = 0; k < list->size(); ++k)
        lists_.back().push_back(moved(*values_[i].as.tensors[k], (*list)[k]));
      values_[i].as.tensors = lists_.back().data();
    }
  }
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    Out out = out_of(call, o);
    std::byte* const to = take(out.bytes);
    results_.emplace_back(to, out.bytes);
    auto t = std::make_unique<assay_tensor>();
    const Checked::Output& output = call.outputs[o];
    strides_.push_back(std::move(out.strided.strides));
    *t = {to + out.strided.offset * assay::bytes(output.dtype),
          {ASSAY_CPU, 0},
          static_cast<std::int32_t>(output.shape.size()),
          info(output.dtype).dlpack,
          const_cast<std::int64_t*>(output.shape.data()),
          strides_.back().data(),
          0};
    outputs_.push_back(t.get());
    tensors_.push_back(std::move(t));
  }
  keep_descriptions();
}

void Operands::keep(const void* at, std::size_t bytes) {
  if (bytes == 0) return;
  auto* const first = static_cast<std::byte*>(const_cast<void*>(at));
  described_.push_back({{first, bytes}, {first, first + bytes}});
}

void Operands::keep_descriptions() {
  keep(values_.data(), values_.size() * sizeof(assay_value));
  keep(outputs_.data(), outputs_.size() * sizeof(assay_tensor*));
  for (const auto& list : lists_) keep(list.data(), list.size() * sizeof(assay_tensor*));
  for (const auto& t : tensors_) {
    keep(t.get(), sizeof(assay_tensor));
    keep(t->shape, static_cast<std::size_t>(t->ndim) * sizeof(std::int64_t));
    keep(t->strides, static_cast<std::size_t>(t->ndim) * sizeof(std::int64_t));
  }
  for (const assay_value& v : values_) {
    if (v.kind == ASSAY_KIND_INTS || v.kind == ASSAY_KIND_BOOLS)
      keep(v.as.integers, v.count * sizeof(std::int64_t));
    if (v.kind == ASSAY_KIND_DOUBLES) keep(v.as.reals, v.count * sizeof(double));
    if (v.kind == ASSAY_KIND_STRING) keep(v.as.string, std::strlen(v.as.string));
  }
}

bool Operands::put_descriptions_right() {
  bool changed = false;
  for (const Described& d : described_) {
    if (std::memcmp(d.at.data(), d.was.data(), d.was.size()) == 0) continue;
    changed = true;
    std::ranges::copy(d.was, d.at.begin());
  }
  return changed;
}

std::vector<std::byte> Operands::packed(std::size_t output) const {
  const assay_tensor& t = *outputs_[output];
  const Shape shape(t.shape, t.shape + t.ndim);
  return gather(static_cast<const std::byte*>(t.data), shape, strides_[output], t.dtype.bits / 8);
}

void Operands::load(const Call& call) {
  std::size_t n = 0;
  each_tensor(call, [&](const TensorData& t) {
    if (!t.memory.empty()) std::memcpy(input_memory_[n], t.memory.data(), t.memory.size());
    ++n;
  });
}

void Operands::put(std::size_t output, std::span<const std::byte> packed) {
  const assay_tensor& t = *outputs_[output];
  const Shape shape(t.shape, t.shape + t.ndim);
  scatter(static_cast<std::byte*>(t.data), packed, shape, strides_[output], t.dtype.bits / 8);
}

int Operands::changed_input(const Call& call) const {
  std::size_t n = 0;
  int changed = -1;
  each_tensor(call, [&](const TensorData& t) {
    if (changed < 0 && !t.memory.empty() &&
        std::memcmp(input_memory_[n], t.memory.data(), t.memory.size()) != 0)
      changed = static_cast<int>(n);
    ++n;
  });
  return changed;
}

void Operands::poison() {
  for (const std::span<std::byte>& r : results_) std::memset(r.data(), 0xcb, r.size());
}

}  // namespace assay

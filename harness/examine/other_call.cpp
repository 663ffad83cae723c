#include "other_call.h"

#include <algorithm>
#include <vector>

#include "../generate/check_case.h"
#include "../generate/data.h"
#include "../generate/reshape.h"

namespace assay {
namespace {

constexpr std::size_t kMostNeighbourBytes = 64 << 10;
constexpr std::int64_t kMostKeptAtEnds = 16;  // elements

TensorData other_data(const TensorData& t) {
  TensorData other = t;
  const std::int64_t n = t.numel();
  const double factor = is_float(t.dtype) ? 0.5 : 1;
  const auto size = static_cast<std::size_t>(bytes(t.dtype));
  // A kernel that knows a tensor by its first and last elements does not notice then.
  const std::int64_t kept = n % 2 == 0 ? std::min(n / 4, kMostKeptAtEnds) : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i < kept || i >= n - kept) continue;
    const std::byte* const from = t.element(n - 1 - i);
    if (factor == 1)  // to the bit: doubles do not hold every integer
      std::copy_n(from, size, other.element(i));
    else
      other.set(i, factor * load(from, t.dtype));
  }
  return other;
}

bool is_shapely(const Call& call) {
  return call.error.empty() && !call.outputs.empty() && bytes_of(call) <= kMostNeighbourBytes;
}

std::optional<MadeCall> first_allowed(const Case& c, const Shaped& from,
                                      const std::vector<ShapeBinding>& candidates) {
  for (const ShapeBinding& sizes : candidates) {
    try {
      const Case other = resized(c, from, sizes);
      if (other == c) continue;
      if (!check_without_data(other).ok()) continue;
      Call call = materialise(other);
      if (is_shapely(call)) return MadeCall{text(other), std::move(call)};
    } catch (const CaseError&) {  // a layout that does not fit these sizes
    }
  }
  return std::nullopt;
}

std::int64_t other_size(std::int64_t size) { return size == 0 ? 0 : size <= 4 ? size + 3 : (size + 1) / 2; }

}  // namespace

std::size_t bytes_of(const Call& call) {
  std::size_t sum = 0;
  for (const CallValue& v : call.arguments) {
    if (const auto* t = std::get_if<TensorData>(&v)) sum += t->memory.size();
    if (const auto* list = std::get_if<std::vector<TensorData>>(&v))
      for (const TensorData& t : *list) sum += t.memory.size();
  }
  for (const Checked::Output& o : call.outputs)
    sum += static_cast<std::size_t>(numel(o.shape) * bytes(o.dtype));
  return sum;
}

std::optional<Call> with_other_data(const Call& call) {
  Call other = call;
  bool changed = false;
  const auto change = [&](TensorData& t) {
    TensorData now = other_data(t);
    changed = changed || !same_bits(now, t);
    t = std::move(now);
  };
  for (CallValue& v : other.arguments) {
    if (auto* t = std::get_if<TensorData>(&v)) change(*t);
    if (auto* list = std::get_if<std::vector<TensorData>>(&v))
      for (TensorData& t : *list) change(t);
  }
  if (!changed) return std::nullopt;
  const Checked checked = check_arguments(*other.op, Arguments(other).values());
  if (!checked.ok() || checked.outputs.size() != call.outputs.size()) return std::nullopt;
  for (std::size_t o = 0; o < checked.outputs.size(); ++o)
    if (checked.outputs[o].shape != call.outputs[o].shape ||
        checked.outputs[o].dtype != call.outputs[o].dtype)
      return std::nullopt;
  return other;
}

std::optional<MadeCall> of_another_shape(const Case& c) {
  const std::optional<Shaped> from = shaped(c);
  if (!from) return std::nullopt;
  std::vector<ShapeBinding> candidates;
  ShapeBinding all = from->binding;
  for (auto& [name, size] : all.sizes) size = other_size(size);
  for (auto& [name, run] : all.runs)
    for (std::int64_t& size : run) size = other_size(size);
  candidates.push_back(all);
  for (const auto& [name, size] : from->binding.sizes) {
    candidates.push_back(from->binding);
    candidates.back().sizes[name] = other_size(size);
  }
  for (const auto& [name, run] : from->binding.runs)
    for (std::size_t d = 0; d < run.size(); ++d) {
      candidates.push_back(from->binding);
      candidates.back().runs[name][d] = other_size(run[d]);
    }
  return first_allowed(c, *from, candidates);
}

std::optional<MadeCall> of_small_shape(const Case& c, std::int64_t most) {
  const std::optional<Shaped> from = shaped(c);
  if (!from) return std::nullopt;
  std::vector<ShapeBinding> candidates;
  for (const std::int64_t size : {most, 2 * most, 4 * most}) {
    ShapeBinding& all = candidates.emplace_back(from->binding);
    for (auto& [name, n] : all.sizes) n = std::min(n, size);
    for (auto& [name, run] : all.runs)
      for (std::int64_t& n : run) n = std::min(n, size);
  }
  return first_allowed(c, *from, candidates);
}

}  // namespace assay

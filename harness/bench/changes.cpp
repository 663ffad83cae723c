#include "changes.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "vocabulary/check.h"
#include "vocabulary/reference.h"

namespace assay {
namespace {

// The tensors of a call, as Operands counts them.
std::vector<TensorData*> tensors_of(Call& call) {
  std::vector<TensorData*> all;
  for (CallValue& value : call.arguments) {
    if (auto* const t = std::get_if<TensorData>(&value)) all.push_back(t);
    if (auto* const list = std::get_if<std::vector<TensorData>>(&value))
      for (TensorData& t : *list) all.push_back(&t);
  }
  return all;
}

// Integers beside floats are indices, offsets and lengths: any of them for another may be more than an operator allows.
std::vector<std::size_t> changeable(const std::vector<TensorData*>& tensors) {
  std::vector<std::size_t> floats, all;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->numel() < 2) continue;
    all.push_back(i);
    if (is_float(tensors[i]->dtype)) floats.push_back(i);
  }
  return floats.empty() ? all : floats;
}

bool is_allowed(const Call& call, const Call& like) {
  const Checked checked = check_arguments(*call.op, Arguments(call).values());
  if (!checked.ok() || checked.outputs.size() != like.outputs.size()) return false;
  for (std::size_t o = 0; o < checked.outputs.size(); ++o)
    if (checked.outputs[o].shape != like.outputs[o].shape ||
        checked.outputs[o].dtype != like.outputs[o].dtype)
      return false;
  return true;
}

void rotate(TensorData& t, std::mt19937_64& random) {
  const std::int64_t n = t.numel();
  if (n == 0) return;
  const auto size = static_cast<std::size_t>(bytes(t.dtype));
  const TensorData from = t;
  const auto by = n == 1 ? 0 : 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n - 1));
  for (std::int64_t i = 0; i < n; ++i) std::copy_n(from.element((i + by) % n), size, t.element(i));
  if (!same_bits(t, from) || !is_float(t.dtype)) return;
  for (std::int64_t i = 0; i < n; ++i) t.set(i, 0.5 * from.get(i));
}

std::vector<std::vector<double>> results_of(const Call& call) {
  const Reference* const reference = find_reference(call.op->schema.name);
  if (reference == nullptr) throw std::logic_error("an operator without a reference");
  const Arguments arguments(call);
  const auto evaluation = reference->evaluate(arguments.values(), call.outputs);
  std::vector<std::vector<double>> all;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    std::size_t n = 1;
    for (const std::int64_t size : call.outputs[o].shape) n *= static_cast<std::size_t>(size);
    all.emplace_back(n);
    evaluation->values(static_cast<int>(o), all.back());
  }
  return all;
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b) / std::max(std::abs(a), std::abs(b));
  return std::isnan(d) ? HUGE_VAL : d;
}

}  // namespace

std::optional<ChangedCall> with_few_changes(const Call& call, std::size_t most, std::mt19937_64& random) {
  ChangedCall made;
  made.call = call;
  const std::vector<TensorData*> tensors = tensors_of(made.call);
  const std::vector<std::size_t> which = changeable(tensors);
  if (which.empty()) return std::nullopt;
  for (std::size_t tries = 0; tries < 4 * most && made.changes.size() < most; ++tries) {
    Change c;
    c.tensor = which[random() % which.size()];
    TensorData& t = *tensors[c.tensor];
    c.size = static_cast<std::size_t>(bytes(t.dtype));
    const auto n = static_cast<std::uint64_t>(t.numel());
    std::byte* const to = t.element(static_cast<std::int64_t>(random() % n));
    const std::byte* const from = t.element(static_cast<std::int64_t>(random() % n));
    if (c.size > c.before.size() || std::equal(from, from + c.size, to)) continue;
    c.byte = static_cast<std::size_t>(to - t.memory.data());
    const auto same = [&c](const Change& other) { return other.tensor == c.tensor && other.byte == c.byte; };
    if (std::ranges::any_of(made.changes, same)) continue;
    std::copy_n(to, c.size, c.before.begin());
    std::copy_n(from, c.size, c.after.begin());
    std::copy_n(from, c.size, to);
    made.changes.push_back(c);
  }
  if (made.changes.empty() || !is_allowed(made.call, call)) return std::nullopt;
  return made;
}

std::optional<Call> with_all_changed(const Call& call, std::mt19937_64& random) {
  for (const bool only_floats : {false, true}) {
    Call other = call;
    bool changed = false;
    for (TensorData* const t : tensors_of(other)) {
      if (only_floats && !is_float(t->dtype)) continue;
      const TensorData before = *t;
      rotate(*t, random);
      changed = changed || !same_bits(*t, before);
    }
    if (changed && is_allowed(other, call)) return other;
  }
  return std::nullopt;
}

std::vector<std::vector<std::size_t>> elements_that_differ(const Call& one, const Call& other,
                                                           std::size_t most) {
  const std::vector<std::vector<double>> a = results_of(one), b = results_of(other);
  std::vector<std::vector<std::size_t>> all(a.size());
  for (std::size_t o = 0; o < a.size(); ++o) {
    std::vector<std::pair<double, std::size_t>> by_difference;
    for (std::size_t e = 0; e < a[o].size(); ++e)
      if (const double d = difference(a[o][e], b[o][e]); d > 0) by_difference.emplace_back(d, e);
    const std::size_t n = std::min(most, by_difference.size());
    std::ranges::partial_sort(by_difference, by_difference.begin() + static_cast<std::ptrdiff_t>(n),
                              std::greater<>());
    for (std::size_t i = 0; i < n; ++i) all[o].push_back(by_difference[i].second);
  }
  return all;
}

Stores::Stores(std::span<const Change> changes, const Operands& operands, std::uint64_t seed)
    : random_(seed | 1) {
  for (const Change& c : changes)
    stores_.push_back({operands.input_memory()[c.tensor] + c.byte, c.before.data(), c.after.data(), c.size});
}

}  // namespace assay

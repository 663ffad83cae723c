#include "expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace assay {
namespace {

// How clearly `substitute` differs from the reference: relative difference, or as large as can be for a NaN or
// infinity where the other is finite.
double difference(double value, double substitute) {
  if (std::isnan(value) && std::isnan(substitute)) return 0;
  if (value == substitute) return 0;
  if (!std::isfinite(value) || !std::isfinite(substitute)) return 2;
  return std::fabs(value - substitute) / std::max(std::fabs(value), std::fabs(substitute));
}

}  // namespace

Expectation::Expectation(const Call& call) : call_(call), arguments_(call) {
  const Reference* reference = find_reference(call.op->schema.name);
  if (reference == nullptr) throw std::logic_error(fmt::format("{} has no reference", call.op->schema.name));
  evaluation_ = reference->evaluate(arguments_.values(), call.outputs);
  values_.resize(call.outputs.size());
  integers_.resize(call.outputs.size());
}

const std::vector<double>& Expectation::values(int output) {
  std::vector<double>& v = values_[static_cast<std::size_t>(output)];
  if (v.empty()) {
    v.resize(elements(output));
    if (const std::vector<std::int64_t>* exact = integers(output))
      std::ranges::transform(*exact, v.begin(), [](std::int64_t x) { return static_cast<double>(x); });
    else
      evaluation_->values(output, v);
  }
  return v;
}

const std::vector<std::int64_t>* Expectation::integers(int output) {
  std::optional<std::vector<std::int64_t>>& exact = integers_[static_cast<std::size_t>(output)];
  if (!exact) {
    exact.emplace(elements(output));
    if (!evaluation_->integers(output, *exact)) exact->clear();
  }
  return exact->empty() ? nullptr : &*exact;
}

std::size_t Expectation::elements(int output) const {
  const Shape& shape = call_.outputs[static_cast<std::size_t>(output)].shape;
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

std::vector<std::byte> Expectation::rounded(int output) {
  const Checked::Output& out = call_.outputs[static_cast<std::size_t>(output)];
  TensorData t(out.dtype, out.shape);
  const std::vector<double>& numbers = values(output);
  const std::vector<std::int64_t>* exact = integers(output);
  for (std::size_t e = 0; e < numbers.size(); ++e) {
    const auto at = static_cast<std::int64_t>(e);
    if (exact != nullptr)
      store_integer(t.element(at), t.dtype, (*exact)[e]);
    else
      t.set(at, numbers[e]);
  }
  return t.memory;
}

Expectation::Known& Expectation::known(const Contract& contract) {
  for (Known& k : known_)
    if (same_arithmetic(k.contract, contract)) return k;
  known_.push_back({.contract = contract, .intervals = {}, .vacuous = {}});
  known_.back().intervals.resize(values_.size());
  return known_.back();
}

const Interval& Expectation::interval(int output, std::int64_t element, const Contract& contract) {
  auto& intervals = known(contract).intervals[static_cast<std::size_t>(output)];
  const auto found = intervals.find(element);
  if (found != intervals.end()) return found->second;
  return intervals.emplace(element, evaluation_->interval(output, element, contract)).first->second;
}

bool Expectation::would_pass(int output, const std::vector<double>& substitute, const Contract& contract) {
  const std::vector<double>& value = values(output);
  const Format& f = format(call_.outputs[static_cast<std::size_t>(output)].dtype);
  std::vector<std::size_t> order(value.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t probes = std::min<std::size_t>(order.size(), 8);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(probes), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return difference(value[a], substitute[a]) > difference(value[b], substitute[b]);
                    });
  for (std::size_t i = 0; i < probes; ++i) {
    const std::size_t e = order[i];
    if (difference(value[e], substitute[e]) == 0) return true;
    if (!interval(output, static_cast<std::int64_t>(e), contract).contains(round_to(substitute[e], f)))
      return false;
  }
  return true;
}

bool Expectation::vacuous(const Contract& contract) {
  std::optional<bool>& known_answer = known(contract).vacuous;
  if (known_answer) return *known_answer;
  const auto decide = [&] {
    const TensorData* first = nullptr;
    for (const CallValue& v : call_.arguments)
      if (first == nullptr) first = std::get_if<TensorData>(&v);
    for (int o = 0; o < static_cast<int>(values_.size()); ++o) {
      const std::vector<double>& value = values(o);
      if (value.empty()) continue;
      std::vector<double> substitute(value.size(), 0.0);
      if (!would_pass(o, substitute, contract)) return false;
      if (first != nullptr && first->shape == call_.outputs[static_cast<std::size_t>(o)].shape) {
        for (std::size_t e = 0; e < substitute.size(); ++e)
          substitute[e] = first->get(static_cast<std::int64_t>(e));
        if (!would_pass(o, substitute, contract)) return false;
      }
      std::rotate_copy(value.begin(), value.begin() + 1, value.end(), substitute.begin());
      if (!would_pass(o, substitute, contract)) return false;
    }
    return true;
  };
  known_answer = decide();
  return *known_answer;
}

}  // namespace assay

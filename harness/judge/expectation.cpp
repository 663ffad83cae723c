#include "expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  rounded_.resize(call.outputs.size());
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
  return static_cast<std::size_t>(numel(call_.outputs[static_cast<std::size_t>(output)].shape));
}

const std::vector<std::byte>& Expectation::rounded(int output) {
  std::optional<std::vector<std::byte>>& known = rounded_[static_cast<std::size_t>(output)];
  if (known) return *known;
  const Dtype dtype = call_.outputs[static_cast<std::size_t>(output)].dtype;
  const auto size = static_cast<std::size_t>(bytes(dtype));
  known.emplace(elements(output) * size);
  if (const std::vector<std::int64_t>* exact = integers(output)) {
    for (std::size_t e = 0; e < exact->size(); ++e)
      store_integer(known->data() + e * size, dtype, (*exact)[e]);
  } else {
    store_all(known->data(), dtype, values(output));
  }
  return *known;
}

Expectation::Known& Expectation::known(const Contract& contract) {
  for (Known& k : known_)
    if (same_arithmetic(k.contract, contract)) return k;
  known_.push_back({.contract = contract, .intervals = {}, .vacuous = {}});
  known_.back().intervals.resize(values_.size());
  return known_.back();
}

const Expectation::Intervals& Expectation::intervals(int output, std::span<const std::size_t> wanted,
                                                     const Contract& contract) {
  Intervals& all = known(contract).intervals[static_cast<std::size_t>(output)];
  if (all.of_.empty()) all.of_.resize(elements(output), Intervals::kUnknown);
  std::vector<std::int64_t> missing;
  for (const std::size_t e : wanted)
    if (all.of_[e] == Intervals::kUnknown) missing.push_back(static_cast<std::int64_t>(e));
  if (missing.empty()) return all;
  evaluation_->intervals(output, missing, contract, [&](std::int64_t element, Interval&& interval) {
    all.of_[static_cast<std::size_t>(element)] = static_cast<std::uint32_t>(all.found_.size());
    all.found_.push_back(std::move(interval));
  });
  return all;
}

template <class Substitute>
bool Expectation::would_pass(int output, const Substitute& substitute, const Contract& contract) {
  constexpr std::size_t kProbes = 8;
  const std::vector<double>& value = values(output);
  const Format& f = format(call_.outputs[static_cast<std::size_t>(output)].dtype);
  const auto passes = [&](std::size_t e) {
    return interval(output, static_cast<std::int64_t>(e), contract).contains(round_to(substitute(e), f));
  };
  // Those that differ by all of their size come first, and are mostly enough.
  std::size_t whole = 0;
  for (std::size_t e = 0; e < value.size() && whole < kProbes; ++e)
    if (difference(value[e], substitute(e)) >= 1) {
      if (!passes(e)) return false;
      ++whole;
    }
  // Then those that differ most, of equal ones the first.
  std::array<std::pair<double, std::size_t>, kProbes + 1> most;
  std::size_t probes = 0;
  for (std::size_t e = 0; e < value.size(); ++e) {
    const double d = difference(value[e], substitute(e));
    if (probes == kProbes && !(d > most[kProbes - 1].first)) continue;
    std::size_t at = probes;
    for (; at > 0 && d > most[at - 1].first; --at) most[at] = most[at - 1];
    most[at] = {d, e};
    probes = std::min(probes + 1, kProbes);
  }
  for (std::size_t k = 0; k < probes; ++k) {
    if (most[k].first == 0) return true;
    if (!passes(most[k].second)) return false;
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
      const auto zero = [](std::size_t) { return 0.0; };
      if (!would_pass(o, zero, contract)) return false;
      const auto of_first = [&](std::size_t e) { return first->get(static_cast<std::int64_t>(e)); };
      if (first != nullptr && first->shape == call_.outputs[static_cast<std::size_t>(o)].shape &&
          !would_pass(o, of_first, contract))
        return false;
      const auto shifted = [&](std::size_t e) { return value[e + 1 < value.size() ? e + 1 : 0]; };
      if (!would_pass(o, shifted, contract)) return false;
    }
    return true;
  };
  known_answer = decide();
  return *known_answer;
}

}  // namespace assay

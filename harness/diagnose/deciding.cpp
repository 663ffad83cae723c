#include "deciding.h"

#include <algorithm>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "prediction.h"
#include "showing.h"
#include "strictest.h"
#include "vocabulary/case.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::uint64_t kMostDecidingCases = 60;
constexpr std::int64_t kLeastDeciding = 16, kLargestDeciding = 4096;  // elements of a result
constexpr std::size_t kLookedAtThere = 64;
constexpr int kLeastOutside = 8;  // elements

std::int64_t numel_of(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

bool has_fitting_size(const Call& call) {
  return std::ranges::all_of(call.outputs, [](const auto& o) { return numel_of(o.shape) <= kLargestDeciding; }) &&
         numel_of(call.outputs[0].shape) >= kLeastDeciding;
}

// What a kernel gives that rounds to nearest, one operation after the other.
ExpectedOutputs plain_results(const Call& call, const Contract& contract) {
  const Arguments arguments(call);
  const auto evaluation = find_reference(call.op->schema.name)->evaluate(arguments.values(), call.outputs);
  const Attack plain{.rounding = Attack::Rounding::nearest, .shuffle = false};
  ExpectedOutputs all;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    TensorData t(call.outputs[o].dtype, call.outputs[o].shape);
    for (std::int64_t i = 0; i < t.numel(); ++i)
      t.set(i, evaluation->attacked(static_cast<int>(o), i, contract, plain));
    all.emplace_back(t.packed());
  }
  return all;
}

// Whether results with the fault are outside the bound of right ones.
bool is_outside(const Call& call, const Contract& contract, const Variant& fault) {
  auto wrong = Prediction::of({{&fault}}, call, contract);
  if (!wrong) return false;
  Prediction right(call, contract);
  int outside = 0;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const std::int64_t n = numel_of(call.outputs[o].shape),
                       step = std::max<std::int64_t>(1, n / static_cast<std::int64_t>(kLookedAtThere));
    for (std::int64_t i = 0; i < n; i += step) {
      const int output = static_cast<int>(o);
      outside += disjoint(wrong->interval(output, i), right.interval(output, i)) ? 1 : 0;
    }
  }
  return outside >= kLeastOutside;
}

}  // namespace

std::optional<Deciding> deciding(const Evidence& evidence, const Variant* fault) {
  const Call& like = evidence.call();
  const Operator& op = *like.op;
  if (std::ranges::any_of(like.outputs, [](const auto& o) { return !is_float(o.dtype); })) return std::nullopt;
  const std::uint64_t first = ladder_length(op);
  for (std::uint64_t i = first; i < first + kMostDecidingCases; ++i) {
    stop_now();
    const Case c = generate(op, dtype_of_cases(op, like.outputs[0].dtype), 0, i);
    if (!has_dtypes_of(c, like)) continue;
    const Call call = materialise(c);
    if (!call.error.empty() || !has_fitting_size(call)) continue;
    const Contract contract = contract_or_strangers("", call);
    if (fault != nullptr && !is_outside(call, contract, *fault)) continue;
    Evidence right(call, contract, plain_results(call, contract));
    if (right.diverging() > 0) continue;
    const std::optional<Strictest> s = strictest(right, kLookedAtThere);
    if (s && s->is_narrow() && s->typical > 0) return Deciding{text(c), 1 / s->typical, fault != nullptr};
  }
  return std::nullopt;
}

}  // namespace assay::diagnose

// What a variant makes of a call: its arguments, and its results.
#include <algorithm>
#include <numeric>

#include "variant.h"
#include "vocabulary/check.h"

namespace assay {

std::optional<Call> changed_by(const Variant& variant, Call call) {
  if (!variant.arguments || !variant.arguments(call)) return std::nullopt;
  if (!variant.keeps_shapes) {
    const Checked checked = check_arguments(*call.op, Arguments(call).values());
    const auto same = [](const Checked::Output& a, const Checked::Output& b) {
      return a.dtype == b.dtype && a.shape == b.shape;
    };
    if (!checked.ok() || !std::ranges::equal(checked.outputs, call.outputs, same)) return std::nullopt;
  }
  return call;
}

bool change_arguments(const Variant& variant, Call& call) {
  std::optional<Call> changed = changed_by(variant, call);
  if (changed) call = std::move(*changed);
  return changed.has_value();
}

const Reference& formula_of(const Variant& variant, const Operator& op) {
  return variant.formula != nullptr ? *variant.formula : *find_reference(op.schema.name);
}

std::vector<VariantResult> results_of(const Variant& v, const Call& call) {
  const Arguments arguments(call);
  const std::unique_ptr<Evaluation> evaluation =
      formula_of(v, *call.op).evaluate(arguments.values(), call.outputs);
  std::vector<VariantResult> results;
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    VariantResult& r = results.emplace_back();
    r.dtype = call.outputs[k].dtype;
    r.shape = call.outputs[k].shape;
    const auto n = static_cast<std::size_t>(numel(r.shape));
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
    const Contract contract = parse_contract(v.contract, call.outputs[k].computed_in);
    for (std::size_t i = 0; i < n; ++i)
      r.values[i] = evaluation->attacked(output, static_cast<std::int64_t>(i), contract, v.attack);
  }
  if (v.results) v.results(results, call);
  return results;
}

}  // namespace assay

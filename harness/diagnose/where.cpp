#include "where.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "../diff/rearranged.h"

namespace assay::diagnose {
namespace {

std::string number(double x, Dtype dtype) {
  if (std::isnan(x)) return "NaN";
  return dtype == Dtype::f64 ? fmt::format("{:.17g}", x) : fmt::format("{:.9g}", x);
}

// Inputs that have an element for each one of the output: a rule may speak of them.
std::vector<diff::Values> inputs_for(const Call& call, const Shape& shape) {
  std::vector<diff::Values> values;
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (const auto* t = std::get_if<TensorData>(&call.arguments[i]); t != nullptr && t->shape == shape)
      values.push_back({std::string(call.op->schema.argument_storage[i].name),
                        [t](std::uint64_t e) { return t->get(static_cast<std::int64_t>(e)); }});
  return values;
}

}  // namespace

std::string place(const Evidence& evidence, const Element& e) {
  const Call& call = evidence.call();
  const auto o = static_cast<std::size_t>(e.output);
  std::string must;
  const Dtype dtype = call.outputs[o].dtype;
  if (e.right.lower <= e.right.upper)
    must = e.right.lower == e.right.upper
               ? number(e.right.lower, dtype)
               : fmt::format("[{}, {}]", number(e.right.lower, dtype), number(e.right.upper, dtype));
  for (const auto& [admitted, what] : {std::pair{e.right.nan, "NaN"},
                                       {e.right.positive_infinity, "inf"},
                                       {e.right.negative_infinity, "-inf"}})
    if (admitted) must += fmt::format("{}{}", must.empty() ? "" : " or ", what);
  return fmt::format("{}{} is {}, but must be {}", output_name(*call.op, o),
                     index_text(call.outputs[o].shape, e.at), number(e.actual, dtype), must);
}

Where where(Evidence& evidence, int output) {
  const Checked::Output& out = evidence.call().outputs[static_cast<std::size_t>(output)];
  const diff::Mask& mask = evidence.mask(output);
  Where w;
  w.output = output_name(*evidence.call().op, static_cast<std::size_t>(output));
  w.diverging = mask.count();
  w.elements = mask.size();
  if (w.diverging == 0) return w;
  std::vector<diff::Values> values = inputs_for(evidence.call(), out.shape);
  values.push_back({"the right result", [&evidence, output](std::uint64_t e) {
                      return evidence.expectation().values(output)[e];
                    }});
  w.small = diff::picture(out.shape, mask, diff::kTerminalRows, diff::kTerminalColumns);
  w.large = diff::picture(out.shape, mask, diff::kDrawnRows, diff::kDrawnColumns);
  w.rule = diff::smallest_rule(out.shape, mask, values);
  const Dtype stored = evidence.stored(output);
  const std::vector<std::byte> right = evidence.as_stored(output, evidence.expectation().rounded(output)),
                               came = evidence.as_stored(output, evidence.packed(output));
  w.rearranged = diff::rearranged({right, stored}, out.shape, {came, stored}, out.shape);
  return w;
}

bool is_somewhere(Evidence& evidence) {
  constexpr double kNearlyAll = 0.9, kSmall = 0.5;
  for (std::size_t o = 0; o < evidence.call().outputs.size(); ++o) {
    const diff::Mask& mask = evidence.mask(static_cast<int>(o));
    if (static_cast<double>(mask.count()) > kSmall * static_cast<double>(mask.size())) continue;
    const std::optional<diff::Rule> rule = diff::smallest_rule(evidence.call().outputs[o].shape, mask, {});
    if (rule && rule->conditions > 0 && rule->precision > kNearlyAll && rule->recall > kNearlyAll)
      return true;
  }
  return false;
}

}  // namespace assay::diagnose

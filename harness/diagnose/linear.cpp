#include "linear.h"

#include <algorithm>
#include <cmath>

#include "vocabulary/domain.h"

namespace assay::diagnose {

constexpr double kBetweenIntegers = 0.0625;

std::optional<Surplus> surplus(Evidence& evidence, int output, std::int64_t at) {
  const Interval i = evidence.interval(output, at);
  const double came = evidence.actual(output, at);
  const double right = evidence.expectation().values(output)[static_cast<std::size_t>(at)];
  if (i.undecidable() || !std::isfinite(came) || !std::isfinite(right) || i.lower > i.upper)
    return std::nullopt;
  if (!is_float(evidence.stored(output)))
    return Surplus{at, came - right, kBetweenIntegers, !i.contains(came)};
  const Format& f = format(evidence.stored(output));
  const double spacing = std::max(2 * f.unit * std::max(std::fabs(came), std::fabs(right)), f.min_subnormal);
  return Surplus{at, came - right, i.upper - i.lower + spacing, !i.contains(came)};
}

std::optional<int> first_wrong_output(const Evidence& evidence) {
  const Call& call = evidence.call();
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (evidence.has(output) && is_float(call.outputs[o].dtype) && is_float(call.outputs[o].computed_in) &&
        evidence.mask(output).count() > 0)
      return output;
  }
  return std::nullopt;
}

std::vector<std::size_t> tensors_of_numbers(const Call& call) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto* t = std::get_if<TensorData>(&call.arguments[i]);
    if (t != nullptr && is_float(t->dtype) && t->numel() > 0 &&
        domain(*call.op, call.op->schema.argument_storage[i].name).kind != Domain::Kind::index)
      all.push_back(i);
  }
  return all;
}

Contributions::Contributions(const Call& call, std::size_t argument, int output)
    : arguments_(call),
      evaluation_(find_reference(call.op->schema.name)->evaluate(arguments_.values(), call.outputs)),
      argument_(argument),
      output_(output),
      direction_(call.arguments.size()) {
  direction_[argument].resize(
      static_cast<std::size_t>(std::get<TensorData>(call.arguments[argument]).numel()));
}

}  // namespace assay::diagnose

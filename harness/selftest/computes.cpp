#include "computes.h"

#include <algorithm>
#include <cmath>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "../generate/errors.h"

namespace assay {
namespace {

constexpr std::uint64_t kCountedCases = 32;     // are looked at
constexpr std::int64_t kMostCounted = 1 << 12;  // elements of a call that is counted
// Formulas of single elements add a few numbers; what is rounded more often than that is a sum.
constexpr std::int64_t kTermsOfASum = 8;

// Whether a result is no number of its dtype. Not so where numbers of the inputs are only moved or chosen from.
bool rounds(Evaluation& evaluation, const Call& call) {
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const Dtype dtype = call.outputs[k].dtype;
    if (!is_float(dtype)) continue;
    std::vector<double> values(static_cast<std::size_t>(numel(call.outputs[k].shape)));
    evaluation.values(static_cast<int>(k), values);
    const Format& f = format(dtype);
    if (std::ranges::any_of(values, [&](double x) { return !std::isnan(x) && round_to(x, f) != x; }))
      return true;
  }
  return false;
}

// Whether it matters how means and variances come about.
bool has_moments(Evaluation& evaluation, const Call& call) {
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const Checked::Output& out = call.outputs[k];
    if (!is_float(out.dtype) || std::ranges::count(out.shape, 0) > 0) continue;
    const Interval strict = evaluation.interval(static_cast<int>(k), 0, {}),
                   one_pass =
                       evaluation.interval(static_cast<int>(k), 0,
                                           parse_contract("moments=one_pass -- looked for", out.computed_in));
    if (strict.lower != one_pass.lower || strict.upper != one_pass.upper) return true;
  }
  return false;
}

}  // namespace

Computes::Computes(const Operator& op, Dtype dtype, std::uint64_t seed, std::uint64_t cases)
    : reads_(op.schema.argument_count) {
  for (std::uint64_t i = 0; i < 2 * kMaxArguments; ++i)
    breakable_.insert(generate_error(op, dtype, seed, i).argument);
  const Reference* reference = find_reference(op.schema.name);
  for (std::uint64_t i = 0; i < std::min(cases, kCountedCases); ++i) {
    const Call call = materialise(generate(op, dtype, seed, i));
    std::int64_t elements = 0, results = 0;
    for (const CallValue& v : call.arguments)
      if (const auto* t = std::get_if<TensorData>(&v)) elements += t->numel();
    for (const Checked::Output& o : call.outputs) results += numel(o.shape);
    if (elements > kMostCounted || call.outputs.empty()) continue;
    const Arguments arguments(call);
    const auto evaluation = reference->evaluate(arguments.values(), call.outputs);
    rounds_ = rounds_ || rounds(*evaluation, call);
    const Work work = evaluation->work();
    for (std::size_t a = 0; a < reads_.size(); ++a) reads_[a] = reads_[a] || work.bytes_of_argument[a] > 0;
    const Operations& o = work.operations;
    products_ |= o.multiplications > 0;
    functions_ |= o.functions > 0;
    sums_ |= o.additions >= kTermsOfASum * std::max<std::int64_t>(results, 1);
    moments_ = moments_ || has_moments(*evaluation, call);
    arithmetic_ |= products_ || functions_ || o.additions > 0 || o.divisions > 0 || o.roots > 0;
  }
}

bool Computes::has(const Variant& v) const {
  const bool reads = v.argument < 0 || reads_[static_cast<std::size_t>(v.argument)];
  return reads && has(v.concerns) && (v.blamed.empty() || breakable_.contains(v.blamed));
}

bool Computes::has(Concerns c) const {
  switch (c) {
    case Concerns::anything:
      return true;
    case Concerns::rounding:
      return rounds_ || arithmetic_;
    case Concerns::arithmetic:
      return arithmetic_;
    case Concerns::products:
      return products_;
    case Concerns::sums:
      return sums_;
    case Concerns::functions:
      return functions_;
    case Concerns::moments:
      return moments_;
  }
  return false;
}

}  // namespace assay

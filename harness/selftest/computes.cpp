#include "computes.h"

#include <algorithm>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "../generate/errors.h"

namespace assay {
namespace {

constexpr std::uint64_t kCountedCases = 32;     // are looked at
constexpr std::int64_t kMostCounted = 1 << 12;  // elements of a call that is counted
// Formulas of single elements add a few numbers; what is rounded more often than that is a sum.
constexpr std::int64_t kTermsOfASum = 8;

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
    for (const Checked::Output& o : call.outputs) {
      std::int64_t n = 1;
      for (const std::int64_t size : o.shape) n *= size;
      results += n;
    }
    if (elements > kMostCounted || call.outputs.empty()) continue;
    const Arguments arguments(call);
    const Work work = reference->evaluate(arguments.values(), call.outputs)->work();
    for (std::size_t a = 0; a < reads_.size(); ++a) reads_[a] = reads_[a] || work.bytes_of_argument[a] > 0;
    const Operations& o = work.operations;
    products_ |= o.multiplications > 0;
    functions_ |= o.functions > 0;
    sums_ |= o.additions >= kTermsOfASum * std::max<std::int64_t>(results, 1);
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
    case Concerns::arithmetic:
      return arithmetic_;
    case Concerns::products:
      return products_;
    case Concerns::sums:
      return sums_;
    case Concerns::functions:
      return functions_;
  }
  return false;
}

}  // namespace assay

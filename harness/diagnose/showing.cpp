#include "showing.h"

#include <algorithm>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "prediction.h"
#include "vocabulary/case.h"

namespace assay::diagnose {
namespace {

constexpr std::uint64_t kMostShowingCases = 12;
constexpr std::int64_t kMostShowingElements = 128;  // of each result
constexpr std::int64_t kLargestShowing = 4096;      // elements of a result: larger cases are passed over

std::int64_t elements_of(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

bool is_within(const Interval& inner, const Interval& outer) {
  return (inner.lower > inner.upper || (outer.contains(inner.lower) && outer.contains(inner.upper))) &&
         (!inner.nan || outer.nan) && (!inner.positive_infinity || outer.positive_infinity) &&
         (!inner.negative_infinity || outer.negative_infinity);
}

bool shows_on(const Call& call, const Variant& v, Prediction& right, const Contract& contract) {
  auto wrong = Prediction::of({{&v}}, call, contract);
  if (!wrong) return false;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const std::int64_t n = elements_of(call.outputs[o].shape),
                       step = std::max<std::int64_t>(1, n / kMostShowingElements);
    const int output = static_cast<int>(o);
    for (std::int64_t e = 0; e < n; e += step) {
      const Interval &w = wrong->interval(output, e), &r = right.interval(output, e);
      if (r.undecidable()) continue;
      // What only promises less may show, or not.
      if (v.contract.empty() ? disjoint(w, r) : !is_within(w, r)) return true;
    }
  }
  return false;
}

}  // namespace

bool has_dtypes_of(const Case& c, const Call& call) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const auto* generated = std::get_if<TensorSpec>(&c.arguments[i]);
    const auto* own = std::get_if<TensorData>(&call.arguments[i]);
    if (generated != nullptr && own != nullptr && generated->dtype != own->dtype) return false;
  }
  return true;
}

Showing showing(const Call& like, const Contract& contract, const std::vector<Variant>& suspects,
                const std::vector<std::string>& names) {
  const Operator& op = *like.op;
  std::vector<const Variant*> asked;
  for (const Variant& v : suspects)
    if (std::ranges::count(names, v.name) > 0) asked.push_back(&v);
  Showing best;
  const std::uint64_t first = ladder_length(op);
  for (std::uint64_t i = first; i < first + kMostShowingCases && best.causes < asked.size(); ++i) {
    const Case c = generate(op, dtype_of_cases(op, like.outputs[0].dtype), 0, i);
    if (!has_dtypes_of(c, like)) continue;
    const Call call = materialise(c);
    if (!call.error.empty() || std::ranges::any_of(call.outputs, [](const auto& o) {
          return elements_of(o.shape) > kLargestShowing;
        }))
      continue;
    Prediction right(call, contract);
    const auto shown = static_cast<std::size_t>(
        std::ranges::count_if(asked, [&](const Variant* v) { return shows_on(call, *v, right, contract); }));
    if (shown > best.causes) best = {text(c), shown};
  }
  return best;
}

}  // namespace assay::diagnose

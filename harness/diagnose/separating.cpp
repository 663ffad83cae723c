#include "separating.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "diagnosis.h"
#include "prediction.h"
#include "showing.h"

namespace assay::diagnose {
namespace {

constexpr std::uint64_t kMostSeparating = 300;  // cases that are tried
constexpr std::size_t kMostElements = 256;      // of such a case, that are looked at

// What a fault makes of a call; the reference, where it changes nothing.
Prediction prediction(const Cause& c, const Call& call, const Contract& contract) {
  auto p = Prediction::of(c.hypothesis, call, contract);
  return p ? std::move(*p) : Prediction(call, contract);
}

bool differ_on(const Case& c, const Cause& cause, const std::vector<Cause>& others,
               const Contract& contract) {
  const Call call = materialise(c);
  if (!call.error.empty()) return false;
  Prediction p = prediction(cause, call, contract);
  return std::ranges::all_of(others, [&](const Cause& other) {
    Prediction q = prediction(other, call, contract);
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      std::int64_t n = 1;
      for (const std::int64_t size : call.outputs[o].shape) n *= size;
      const std::int64_t step = std::max<std::int64_t>(1, n / static_cast<std::int64_t>(kMostElements));
      for (std::int64_t e = 0; e < n; e += step)
        if (disjoint(p.interval(static_cast<int>(o), e), q.interval(static_cast<int>(o), e))) return true;
    }
    return false;
  });
}

}  // namespace

std::optional<std::string> separating(const Causes& causes, const Evidence& evidence) {
  std::vector<Cause> others;
  for (const Cause& c : causes.same)
    if (others.size() < kMostSeparated) others.push_back(c);
  const Operator& op = *evidence.call().op;
  for (std::uint64_t i = ladder_length(op); i < kMostSeparating; ++i) {
    const Case c = generate(op, dtype_of_cases(op, evidence.call().outputs[0].dtype), 0, i);
    if (has_dtypes_of(c, evidence.call()) && differ_on(c, causes.causes[0], others, evidence.contract()))
      return text(c);
  }
  return std::nullopt;
}

}  // namespace assay::diagnose

#include "sharpness.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "vocabulary/reference.h"

namespace assay {
namespace {

constexpr std::int64_t kLookedAt = 32;
constexpr std::uint64_t kSeeds = 6;

}  // namespace

Sharpness sharpness(const Call& call, int output, const Contract& contract) {
  const Arguments arguments(call);
  const auto evaluation = find_reference(call.op->schema.name)->evaluate(arguments.values(), call.outputs);
  std::int64_t n = 1;
  for (const std::int64_t size : call.outputs[static_cast<std::size_t>(output)].shape) n *= size;
  Sharpness s;
  for (std::int64_t k = 0; k < std::min(n, kLookedAt); ++k) {
    const std::int64_t at = k * n / std::min(n, kLookedAt);
    const Interval i = evaluation->interval(output, at, contract);
    ++s.elements;
    if (i.undecidable() || !std::isfinite(i.value)) {
      s.undecidable += i.undecidable() ? 1 : 0;
      continue;
    }
    s.seen = std::max({s.seen, i.upper - i.value, i.value - i.lower});
    const auto error = [&](Attack::Rounding rounding, bool shuffle, std::uint64_t seed) {
      const Attack attack{.rounding = rounding, .shuffle = shuffle, .fuse = seed % 2 == 1, .seed = seed};
      const double e = std::fabs(evaluation->attacked(output, at, contract, attack) - i.value);
      return std::isfinite(e) ? e : 0;
    };
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      s.errs = std::max(s.errs, error(Attack::Rounding::nearest, true, seed));
      for (const auto worst :
           std::array{Attack::Rounding::up, Attack::Rounding::down, Attack::Rounding::random_sign})
        s.attacked = std::max(s.attacked, error(worst, seed % 2 == 1, seed));
    }
  }
  s.attacked = std::max(s.attacked, s.errs);
  return s;
}

}  // namespace assay

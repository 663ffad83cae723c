#include "recorded_picture.h"

#include <cmath>

#include "../diff/picture.h"

namespace assay {
namespace {

constexpr std::size_t kReportRows = 64, kReportColumns = 96;

bool allowed(const RecordedOutput& out, std::size_t e, double actual) {
  const std::uint8_t special = out.special.empty() ? std::uint8_t{0} : out.special[e];
  if (std::isnan(actual)) return (special & kAdmitsNan) != 0;
  if (std::isinf(actual) && (special & (actual > 0 ? kAdmitsPositiveInfinity : kAdmitsNegativeInfinity)) != 0)
    return true;
  if (actual == 0 && out.value[e] == 0 && (special & kZeroSignDecided) != 0 &&
      std::signbit(actual) != std::signbit(out.value[e]))
    return false;
  return actual >= out.lower[e] && actual <= out.upper[e];
}

// The elements that are not allowed; nothing if that was not recorded.
std::optional<diff::Mask> diverging(const RecordedOutput& out) {
  if (!out.actual || out.lower.empty() || out.actual->shape != out.shape) return std::nullopt;
  const diff::Elements actual{out.actual->data, out.actual->dtype};
  const std::uint64_t count = actual.count();
  if (out.value.size() != count || out.lower.size() != count || out.upper.size() != count ||
      (!out.special.empty() && out.special.size() != count))
    return std::nullopt;
  diff::Mask mask(count);
  for (std::uint64_t e = 0; e < count; ++e)
    if (!allowed(out, e, actual[e])) mask.set(e);
  return mask;
}

}  // namespace

std::optional<TensorPicture> recorded_picture(const RecordedCall& call) {
  for (const auto& [name, out] : call.outputs) {
    const std::optional<diff::Mask> mask = diverging(out);
    if (!mask || mask->count() == 0) continue;
    diff::Picture p = diff::picture(out.shape, *mask, kReportRows, kReportColumns);
    return TensorPicture{
        name,         mask->count(),     mask->size(),       p.rows, p.columns, std::move(p.share), p.of_rows,
        p.of_columns, std::move(p.down), std::move(p.across)};
  }
  return std::nullopt;
}

}  // namespace assay

#include "region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "reports/text.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr double kBox = 0.5;  // of a block's elements, those that diverge

}  // namespace

Region::Region(const Shape& out, const diff::Mask& mask) : shape(out), first(out), last(out.size(), -1) {
  std::uint64_t within = 1;
  for (std::uint64_t e = 0; e < mask.size(); ++e) {
    stop_point_at(static_cast<std::int64_t>(e));
    if (!mask[e]) continue;
    auto rest = static_cast<std::int64_t>(e);
    for (std::size_t d = shape.size(); d-- > 0;) {
      first[d] = std::min(first[d], rest % shape[d]);
      last[d] = std::max(last[d], rest % shape[d]);
      rest /= shape[d];
    }
  }
  for (std::size_t d = 0; d < shape.size(); ++d) within *= static_cast<std::uint64_t>(last[d] - first[d] + 1);
  is_block = static_cast<double>(mask.count()) >= kBox * static_cast<double>(within);
  everywhere = is_block && within == mask.size();
}

void Region::only(const diff::Mask& mask) {
  everywhere = is_block = false;
  diverging = std::make_shared<const diff::Mask>(mask);
}

bool Region::has(std::int64_t at) const {
  if (diverging) return (*diverging)[static_cast<std::uint64_t>(at)];
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::int64_t i = at % shape[d];
    if (i < first[d] || i > last[d]) return false;
    at /= shape[d];
  }
  return true;
}

std::string Region::says() const {
  if (everywhere) return {};
  if (diverging) return fmt::format(", in the {} that diverge", counted(diverging->count(), "result"));
  std::vector<std::string> where;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (first[d] == 0 && last[d] == shape[d] - 1) continue;
    where.push_back(first[d] == last[d] ? fmt::format("dimension {} is {}", d, first[d])
                                        : fmt::format("dimension {} is {} to {}", d, first[d], last[d]));
  }
  return fmt::format(", in the results whose {}", fmt::join(where, " and whose "));
}

std::string Region::name() const { return everywhere ? "" : is_block ? "_in_a_block" : "_where_it_diverges"; }

}  // namespace assay::diagnose

#include "ran_code.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace assay {
namespace {

struct Part {
  std::uint32_t first, end;
};

Part part_of(CoverageLog::Span span, std::uint32_t logged, std::uint32_t most, bool& cut) {
  std::uint32_t end = span.end == CoverageLog::kOpen ? logged : span.end;
  if (end > most) cut = true;
  end = std::min(end, most);
  return {std::min(span.first, end), end};
}

}  // namespace

void add_ran_code(const CoverageLog& log, std::uint32_t entry, std::shared_ptr<RanCode>& ran) {
  if (log.records != CoverageLog::kRecords || entry >= kCoveredEntries) return;
  if (!ran) ran = std::make_shared<RanCode>();
  const Part blocks = part_of(log.blocks_of[entry], log.blocks.load(), kMostBlocksLogged, ran->cut);
  ran->blocks.insert(ran->blocks.end(), log.block.begin() + blocks.first, log.block.begin() + blocks.end);
  std::ranges::sort(ran->blocks);
  ran->blocks.erase(std::unique(ran->blocks.begin(), ran->blocks.end()), ran->blocks.end());
  const Part compared =
      part_of(log.comparisons_of[entry], log.comparisons.load(), kMostComparisonsLogged, ran->cut);
  const auto all_of = [](const ComparedValues& v) {
    return std::tuple(v.place, v.left, v.right, v.constant, v.real);
  };
  std::set<decltype(all_of(ComparedValues{}))> had;
  for (const ComparedValues& v : ran->comparisons) had.insert(all_of(v));
  for (std::uint32_t i = compared.first; i < compared.end; ++i)
    if (const ComparedValues v = log.comparison[i]; had.insert(all_of(v)).second)
      ran->comparisons.push_back(v);
}

}  // namespace assay

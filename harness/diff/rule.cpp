#include "rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "conditions.h"
#include "sample.h"
#include "vocabulary/stop.h"

namespace assay::diff {
namespace {

constexpr std::size_t kMostSampled = std::size_t{1} << 15;
constexpr std::size_t kFirst = 12;  // conditions that a second one is looked for to
constexpr double kEverywhere =
    0.98;                       // share of the set from which on it is everything, if no rule says it better
constexpr double kLeast = 0.5;  // of a rule's F; less says little
constexpr double kGain = 0.6;   // what a condition leaves of 1 - F, at most
constexpr double kNearlyAsGood = 0.002;

struct Scored {
  std::string text;
  int rank;
  Score score;
  const Bits* holds;
  std::function<bool(std::uint64_t)> at;
  int conditions = 1;
  bool by_number = false;
};

bool is_gain(const Score& with, const Score& without) {
  return with.f() > without.f() && 1 - with.f() <= kGain * (1 - without.f());
}
// Of nearly equal ones the one that speaks of dimensions, and then the one of lower rank.
bool is_better(const Scored& a, const Scored& b) {
  if (a.by_number != b.by_number) {
    const double gain = a.score.f() - b.score.f();
    return a.by_number ? gain > kNearlyAsGood : gain >= -kNearlyAsGood;
  }
  const double gain = a.score.f() - b.score.f();
  return gain > kNearlyAsGood || (gain >= -kNearlyAsGood && a.rank < b.rank);
}

// The better one first; of nearly equal ones the one of lower rank.
void sort_best_first(std::vector<Scored>& all) {
  std::ranges::stable_sort(all, std::greater{}, [](const Scored& s) { return s.score.f(); });
  std::size_t end = 0;
  while (end < all.size() && all[end].score.f() >= all[0].score.f() - kNearlyAsGood) ++end;
  std::stable_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(end),
                   [](const Scored& a, const Scored& b) {
                     return std::pair(a.by_number, a.rank) < std::pair(b.by_number, b.rank);
                   });
}

std::vector<Scored> scored(const Sample& sample, const std::vector<Condition>& conditions) {
  std::vector<Scored> all;
  for (const Condition& c : conditions)
    all.push_back({c.text, c.rank, score(sample, c.holds), &c.holds, c.at, 1, c.by_number});
  sort_best_first(all);
  return all;
}

// On every element.
Score counted(const Mask& set, const std::function<bool(std::uint64_t)>& at) {
  Score s;
  for (std::uint64_t e = 0; e < set.size(); ++e) {
    stop_point_at(static_cast<std::int64_t>(e));
    const bool is_in = set[e];
    s.in += is_in ? 1 : 0;
    if (at(e)) (is_in ? s.named_in : s.named_out) += 1;
  }
  return s;
}

// The best on the whole tensor of those that were the best on the sample. A rule may hold for a few elements by chance where others that
// it names were not drawn.
Scored best_of_all(const Mask& set, Scored best, const std::vector<Scored>& others) {
  const double hoped = best.score.f();
  best.score = counted(set, best.at);
  if (best.score.f() >= hoped - kNearlyAsGood) return best;
  for (std::size_t k = 0; k < std::min(others.size(), kFirst); ++k) {
    Scored other = others[k];
    other.score = counted(set, other.at);
    if (is_better(other, best)) best = std::move(other);
  }
  return best;
}

}  // namespace

std::optional<Rule> smallest_rule(const Shape& shape, const Mask& set, const std::vector<Values>& values) {
  const Sample s = sample(set, kMostSampled);
  Bits everything((s.size() + 63) / 64, 0);
  for (std::size_t k = 0; k < s.size(); ++k) everything[k / 64] |= std::uint64_t{1} << (k % 64);
  const Score all = score(s, everything);
  if (all.in == 0) return std::nullopt;

  const std::vector<Condition> first = conditions(s, everything, shape, values);
  const std::vector<Scored> singles = scored(s, first);
  Scored best = singles.empty() ? Scored{"", 0, {}, nullptr, {}} : singles.front();
  Scored pair{"", 0, {}, nullptr, {}};
  // What a first condition names too much of, a second one may exclude; what it misses is lost.
  std::vector<Scored> candidates = singles;
  std::ranges::stable_sort(candidates, std::greater{}, [](const Scored& c) { return c.score.recall(); });
  std::erase_if(candidates, [&](const Scored& c) {
    return c.score.recall() < 0.9 || c.score.precision() <= all.precision() * 1.02;
  });
  std::ranges::stable_sort(candidates, std::greater{}, [](const Scored& c) { return c.score.f(); });
  if (candidates.size() > kFirst) candidates.resize(kFirst);
  for (const Scored& one : candidates) {
    const std::vector<Condition> second = conditions(s, *one.holds, shape, values);
    const std::vector<Scored> others = scored(s, second);
    if (others.empty()) continue;
    const Scored joined{
        fmt::format("{} and {}", one.text, others[0].text),
        one.rank + others[0].rank,
        others[0].score,
        nullptr,
        [first = one.at, then = others[0].at](std::uint64_t e) { return first(e) && then(e); },
        2,
        one.by_number || others[0].by_number};
    if (pair.text.empty() || is_better(joined, pair)) pair = joined;
  }
  // A row-major number modulo something may name a few columns of a few rows: two conditions on dimensions say it plainly.
  const bool plainer = best.by_number && !pair.by_number && is_better(pair, best);
  if (!pair.text.empty() && (is_gain(pair.score, best.score) || plainer)) {
    best = pair;
  }
  if (!s.all && !best.text.empty()) best = best_of_all(set, best, singles);
  if (best.text.empty() || best.score.f() < kLeast || !is_gain(best.score, all)) {
    if (all.precision() < kEverywhere) return std::nullopt;
    return Rule{"everywhere", all.precision(), 1, 0};
  }
  return Rule{best.text, best.score.precision(), best.score.recall(), best.conditions};
}

}  // namespace assay::diff

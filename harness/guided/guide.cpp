#include "guide.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "../generate/check_case.h"
#include "../generate/draw.h"
#include "../generate/layers.h"
#include "../generate/random.h"
#include "../generate/tensor_copy.h"

namespace assay {
namespace {

constexpr std::size_t kMostModels = 160;
constexpr std::size_t kMostComparisons = 64;  // of a model
constexpr std::size_t kMostCandidates = 24;   // of a goal
constexpr std::uint64_t kEnoughTries = 16;    // for an outcome that may be impossible
constexpr std::uint64_t kEnoughTogether = 5;  // for one together with another
constexpr std::uint64_t kManyCalls = 12;
constexpr std::uint64_t kNeighbours = 12;  // of a model
constexpr std::int64_t kLargestSize = 1 << 20;

// Which kind of goal is next. 0: an outcome that there never was; 1: one that there never was together with another; 2: any; 3: a
// neighbour of a model.
constexpr int kTurns[] = {0, 1, 0, 1, 2, 0, 1, 3, 0, 1, 2};

std::string text_but_for_seed(Case c) {
  c.seed = 0;
  return text(c);
}

// What `other` stands opposite to, so that (other, it) or (it, other) is wanted.
std::int64_t opposite(std::int64_t other, int direction) {
  if (direction > 0) return other == INT64_MAX ? other : other + 1;
  if (direction < 0) return other == INT64_MIN ? other : other - 1;
  return other;
}

// Without overflow; sizes beyond kLargestSize are none.
std::optional<std::int64_t> shifted(std::int64_t value, std::int64_t to, std::int64_t from) {
  const double sum = static_cast<double>(value) + static_cast<double>(to) - static_cast<double>(from);
  if (std::abs(sum) > kLargestSize) return std::nullopt;
  return value + (to - from);
}

}  // namespace

unsigned Guide::outcome_of(const ComparedValues& c) {
  if (c.real != 0) {
    const auto left = std::bit_cast<double>(c.left), right = std::bit_cast<double>(c.right);
    return left < right ? kLess : left == right ? kEqual : kGreater;
  }
  return c.left < c.right ? kLess : c.left == c.right ? kEqual : kGreater;
}

std::uint64_t Guide::key(const Outcome& a, const Outcome& b) {
  const auto& [first, second] = std::minmax(a, b);
  return mix(mix(first.first, first.second), mix(second.first, second.second));
}

bool Guide::saw(const Case& c, const RanCode& ran, bool taken) {
  known_.insert(text_but_for_seed(c));
  bool new_block = false, is_new = false;
  for (const std::uint32_t b : ran.blocks)
    if (taken && blocks_.insert(b).second) new_block = is_new = true;
  std::vector<ComparedValues> comparisons = ran.comparisons;
  std::stable_partition(comparisons.begin(), comparisons.end(),
                        [](const ComparedValues& v) { return v.constant != 0; });
  if (comparisons.size() > kMostComparisons) comparisons.resize(kMostComparisons);
  for (const ComparedValues& v : comparisons)
    if (++outcomes_[{v.place, outcome_of(v)}] == 1) is_new = true;
  if (!taken) return false;
  learn(c, comparisons);
  // Of comparisons with a constant: loops make too many of the others.
  for (std::size_t i = 0; i < comparisons.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (comparisons[i].place != comparisons[k].place &&
          (comparisons[i].constant | comparisons[k].constant) != 0)
        is_new = together_
                     .insert(key({comparisons[i].place, outcome_of(comparisons[i])},
                                 {comparisons[k].place, outcome_of(comparisons[k])}))
                     .second ||
                 is_new;
  if (!is_new || models_.size() >= kMostModels) return new_block;
  const std::size_t model = models_.size();
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    unsigned had = 0;  // in this call; another number of it may still come out otherwise
    for (const ComparedValues& v : comparisons)
      if (v.place == comparisons[i].place) had |= outcome_of(v);
    for (const unsigned wanted : {kEqual, kLess, kGreater})
      if ((had & wanted) == 0) goals_.push_back({model, i, wanted});
  }
  models_.push_back({c, std::move(comparisons), 0, new_block});
  return new_block;
}

// Which numbers of cases it is that are compared there.
void Guide::learn(const Case& c, const std::vector<ComparedValues>& comparisons) {
  const std::vector<CasePlace> places = places_of(c);
  std::set<std::uint64_t> had;
  for (const ComparedValues& v : comparisons) {
    Site& site = sites_[v.place];
    if (!had.insert(v.place).second) {
      site.loops = true;
      continue;
    }
    if (v.real != 0) continue;
    if (site.calls++ == 0) site.right = v.right;
    site.varies = site.varies || site.right != v.right;
    for (const CasePlace& p : places) {
      if (p.kind == CasePlace::Kind::real) continue;
      if (p.value == v.right) ++site.is_right[{p.kind, p.which, p.item}];
      if (p.value == v.left) ++site.is_left[{p.kind, p.which, p.item}];
    }
  }
}

// What is equal is worth a try more than what is more or less, and both more than what loops compare, and that more than what no case
// has changed.
std::uint64_t Guide::handicap(const Goal& goal) const {
  const ComparedValues& v = models_[goal.model].comparisons[goal.comparison];
  const Site& site = sites_.at(v.place);
  const bool is_fixed = !site.varies && v.constant != 0 && v.real == 0 && site.calls >= kManyCalls;
  return goal.tried + (is_fixed ? 8u : 0u) + (site.loops ? 2u : 0u) + (goal.wanted == kEqual ? 0u : 1u);
}

// An outcome that there never was: the least tried one.
std::optional<Guide::Rank> Guide::as_new(const Goal& goal) const {
  const Outcome wanted{models_[goal.model].comparisons[goal.comparison].place, goal.wanted};
  if (outcomes_.contains(wanted)) return std::nullopt;
  const auto found = tried_.find(wanted);
  const std::uint64_t tried = found == tried_.end() ? 0 : found->second;
  if (tried >= kEnoughTries) return std::nullopt;
  return Rank{tried + handicap(goal) - goal.tried, goal.tried};
}

// One that there never was together with another of the model: with the rarest.
std::optional<Guide::Rank> Guide::as_new_together(const Goal& goal) const {
  const Model& m = models_[goal.model];
  const ComparedValues& own = m.comparisons[goal.comparison];
  const Outcome wanted{own.place, goal.wanted};
  if (!outcomes_.contains(wanted)) return std::nullopt;
  std::optional<std::uint64_t> rarest;
  for (const ComparedValues& v : m.comparisons) {
    const Outcome other{v.place, outcome_of(v)};
    const std::uint64_t both = key(wanted, other);
    if (v.place == own.place || (v.constant | own.constant) == 0 || together_.contains(both)) continue;
    const auto tried = tried_together_.find(both);
    if (tried != tried_together_.end() && tried->second >= kEnoughTogether) continue;
    const std::uint64_t seen = outcomes_.at(other);
    rarest = std::min(rarest.value_or(seen), seen);
  }
  if (!rarest) return std::nullopt;
  return Rank{handicap(goal), *rarest};
}

// Any: of the newest model, which is the farthest in.
std::optional<Guide::Rank> Guide::as_any(const Goal& goal) const {
  return Rank{handicap(goal), models_.size() - goal.model};
}

// Numbers of the model's case that may make the comparison come out so, the likeliest last.
void Guide::plan(Goal& goal) {
  goal.planned = true;
  const Model& m = models_[goal.model];
  const ComparedValues& v = m.comparisons[goal.comparison];
  const Site& site = sites_.at(v.place);
  std::vector<CasePlace> places = places_of(m.c);
  const auto shares = [&](const std::map<PlaceName, std::uint64_t>& counts, const CasePlace& p) {
    const auto found = counts.find({p.kind, p.which, p.item});
    return found == counts.end() ? 0 : found->second;
  };
  // First what it always was.
  std::ranges::stable_sort(places, std::greater<>(), [&](const CasePlace& p) {
    return std::max(shares(site.is_right, p), v.constant == 0 ? shares(site.is_left, p) : 0);
  });
  const auto is_known = [&](const std::map<PlaceName, std::uint64_t>& counts) {
    return site.calls >= kManyCalls &&
           std::ranges::any_of(counts, [&](const auto& c) { return c.second == site.calls; });
  };
  const bool right_is_known = is_known(site.is_right),
             left_is_known = v.constant == 0 && is_known(site.is_left);
  const bool was_had = outcomes_.contains({v.place, goal.wanted});
  std::set<std::string> made;
  std::vector<Case> all;
  const auto add = [&](std::optional<Case> c) {
    if (!c || all.size() >= kMostCandidates) return;
    // Without elements there is nothing to be wrong.
    if (was_had &&
        std::ranges::any_of(tensors_of(*c), [](const TensorSpec* t) { return numel(t->shape) == 0; }))
      return;
    // A fault may hide in data that is all the same.
    c->data = "normal";
    const std::string its_text = text_but_for_seed(*c);
    if (!known_.contains(its_text) && made.insert(its_text).second) all.push_back(std::move(*c));
  };
  if (v.real != 0) {
    for (const CasePlace& p : places)
      if (p.kind == CasePlace::Kind::real)
        for (const std::int64_t bits : {v.left, v.right}) add(with_real(m.c, p, std::bit_cast<double>(bits)));
  } else {
    // The left one is to be on the other side of the right one, or the right one of the left one, which is all there is to
    // change where the left one is a constant.
    const int direction = goal.wanted == kLess ? 1 : goal.wanted == kGreater ? -1 : 0;
    const std::int64_t right = opposite(v.left, direction), left = opposite(v.right, -direction);
    const bool both = v.constant == 0;
    const auto try_at = [&](const CasePlace& p, std::optional<std::int64_t> value) {
      if (value && p.kind != CasePlace::Kind::real && *value != p.value && std::abs(*value) <= kLargestSize)
        add(with_value(m.c, result_dtype_, p, *value));
    };
    for (const CasePlace& p : places) {
      if (p.value == v.right) try_at(p, right);
      if (both && p.value == v.left) try_at(p, left);
    }
    // Where it is known which number it always was, the others are none of it; else it may be made of them.
    if (!right_is_known || left_is_known)
      for (const CasePlace& p : places) {
        if (p.value != v.right) try_at(p, shifted(p.value, right, v.right));
        if (both && p.value != v.left) try_at(p, shifted(p.value, left, v.left));
      }
    if (!right_is_known) {
      for (const CasePlace& p : places) {  // products of it
        const double ratio = static_cast<double>(p.value) / static_cast<double>(v.right == 0 ? 1 : v.right);
        const double exact = ratio * static_cast<double>(right);
        if (std::abs(exact) > kLargestSize) continue;
        const auto below = static_cast<std::int64_t>(std::floor(exact));
        try_at(p, below);
        try_at(p, below + 1);
      }
      for (const CasePlace& p : places) try_at(p, v.left);
      for (const CasePlace& p : places)
        for (const std::int64_t step : {1, -1, 2}) try_at(p, p.value + step);
    }
  }
  std::ranges::reverse(all);
  goal.candidates = std::move(all);
}

std::optional<Case> Guide::take(Goal& goal) {
  if (!goal.planned) plan(goal);
  while (!goal.candidates.empty()) {
    Case c = std::move(goal.candidates.back());
    goal.candidates.pop_back();
    ++goal.tried;
    if (!known_.insert(text_but_for_seed(c)).second) continue;
    const Model& m = models_[goal.model];
    const Outcome wanted{m.comparisons[goal.comparison].place, goal.wanted};
    ++tried_[wanted];
    for (const ComparedValues& v : m.comparisons)
      if (v.place != wanted.first && !together_.contains(key(wanted, {v.place, outcome_of(v)})))
        ++tried_together_[key(wanted, {v.place, outcome_of(v)})];
    return c;
  }
  return std::nullopt;
}

Guide::Goal* Guide::choose(int kind) {
  Goal* best = nullptr;
  Rank rank{};
  for (Goal& g : goals_) {
    if (g.planned && g.candidates.empty()) continue;
    const std::optional<Rank> its = kind == 0 ? as_new(g) : kind == 1 ? as_new_together(g) : as_any(g);
    if (!its || (best != nullptr && *its >= rank)) continue;
    best = &g;
    rank = *its;
  }
  return best;
}

std::optional<Case> Guide::neighbour() {
  Draw draw(mix(mix(seed_, hash("guide")), number_));
  Model* best = nullptr;
  for (Model& m : models_)
    if (m.neighbours < kNeighbours && (best == nullptr || std::pair(!m.new_block, m.neighbours) <=
                                                              std::pair(!best->new_block, best->neighbours)))
      best = &m;
  if (best == nullptr) return std::nullopt;
  ++best->neighbours;
  std::optional<Case> c;
  try {
    c = neighbour_of(draw, best->c, result_dtype_);
  } catch (const std::invalid_argument&) {  // a layout that does not fit
  }
  if (!c) return std::nullopt;
  c->data = "normal";
  if (!check_case(*c).ok() || !known_.insert(text_but_for_seed(*c)).second) return std::nullopt;
  return c;
}

std::optional<Case> Guide::next() {
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int kind = kTurns[number_++ % std::size(kTurns)];
    if (kind == 3) {
      if (std::optional<Case> c = neighbour()) return c;
      continue;
    }
    if (Goal* const goal = choose(kind))
      if (std::optional<Case> c = take(*goal)) return c;
  }
  return std::nullopt;
}

}  // namespace assay

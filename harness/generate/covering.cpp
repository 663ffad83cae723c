#include "covering.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "check_case.h"
#include "factors.h"
#include "families.h"
#include "random.h"
#include "random_case.h"
#include "wished.h"

namespace assay {
namespace {

constexpr std::uint64_t kSamples = 240;  // random cases from which the values of factors are learned
constexpr SizeBudget kUsual{16'384, 200'000};
constexpr SizeBudget kFew{1 << 18, 2 << 20};  // for kMostLarge cases of an array
constexpr int kMostLarge = 4;
constexpr int kTargets = 6;        // pairs that are tried for one case
constexpr int kLooks = 6;          // open pairs of which one is the target
constexpr int kGiveUp = 3;         // tries of a pair in an array after which it is one that cannot be
constexpr std::size_t kKept = 32;  // arrays in memory

bool is_of_tensors(const std::string& factor) {
  return std::ranges::any_of(std::array{"size ", "rank ", "layout ", "broadcast ", "window "},
                             [&](const char* start) { return factor.starts_with(start); });
}

// The values that factors have under one alternative of the shape rule, numbered.
struct Universe {
  struct Value {
    std::string factor, name;
    std::size_t factor_number = 0;
  };
  static bool is_empty(const Value& v) { return v.name == "0" && v.factor.starts_with("size "); }
  std::vector<Value> values;
  std::vector<std::vector<std::size_t>> by_factor;

  // A call without elements shows what an attribute does to it, and nothing else: sizes of 0 meet attributes alone.
  // Kinds of data meet what else is a number: beta = 0 and NaN, a small epsilon and numbers that cancel. Where tensors lie and how
  // large they are is nothing to them that a case with another kind of data would not show.
  bool should_meet(std::size_t a, std::size_t b) const {
    const Value &x = values[a], &y = values[b];
    if (x.factor_number == y.factor_number) return false;
    const auto keeps_from = [](const Value& one, const Value& other) {
      return (one.factor == "data" && is_of_tensors(other.factor)) ||
             (is_empty(one) && (other.factor == "data" || is_of_tensors(other.factor)));
    };
    return !keeps_from(x, y) && !keeps_from(y, x);
  }

  std::vector<std::size_t> numbers(const Factors& factors) const {
    std::vector<std::size_t> all;
    for (std::size_t v = 0; v < values.size(); ++v)
      if (const auto found = factors.find(values[v].factor);
          found != factors.end() && found->second == values[v].name)
        all.push_back(v);
    return all;
  }
};

std::vector<Universe> learned_universes(const Operator& op, Dtype dtype) {
  const auto& alternatives = shape_rule(op).alternatives;
  std::vector<std::map<std::string, std::set<std::string>>> seen(alternatives.size());
  const std::uint64_t key = mix(hash(op.schema.name), static_cast<std::uint64_t>(dtype));
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const Case c = random_case(op, dtype, mix(key, i), false);
    if (!check_case(c).ok()) continue;
    const ShapeMatch match = match_case(c);
    for (const auto& [factor, name] : factors_of(c))
      seen[static_cast<std::size_t>(match.alternative)][factor].insert(name);
  }
  std::vector<Universe> all(alternatives.size());
  for (std::size_t a = 0; a < alternatives.size(); ++a) {
    for (auto& [factor, names] : seen[a])
      if (factor.starts_with("size "))
        for (const SizeClass& c : size_classes()) names.emplace(c.name);
    for (const Family& f : families())
      if (weight_for(op, f) > 0) seen[a]["data"].emplace(f.name);
    for (const auto& [factor, names] : seen[a]) {
      if (names.size() < 2) continue;  // what is always the same meets everything
      all[a].by_factor.emplace_back();
      for (const std::string& name : names) {
        all[a].by_factor.back().push_back(all[a].values.size());
        all[a].values.push_back({factor, name, all[a].by_factor.size() - 1});
      }
    }
  }
  return all;
}

// One for each alternative of the shape rule. What seeds and arrays have in common is learned once.
const std::vector<Universe>& universes_of(const Operator& op, Dtype dtype) {
  struct Learned {
    std::once_flag once;
    std::vector<Universe> universes;
  };
  static std::mutex mutex;
  static std::map<std::pair<const Operator*, Dtype>, Learned> all;
  Learned* learned = nullptr;
  {
    const std::scoped_lock lock(mutex);
    learned = &all[{&op, dtype}];
  }
  std::call_once(learned->once, [&] { learned->universes = learned_universes(op, dtype); });
  return learned->universes;
}

// Which pairs of values met, of one alternative.
class Pairs {
 public:
  explicit Pairs(const Universe& universe)
      : n_(universe.values.size()), met_(n_ * n_), tries_(n_ * n_), doubts_(n_ * n_) {
    for (std::size_t a = 0; a < n_; ++a)
      for (std::size_t b = a + 1; b < n_; ++b) met_[at(a, b)] = !universe.should_meet(a, b);
  }

  bool is_open(std::size_t a, std::size_t b) const {
    return a != b && !met_[at(a, b)] && tries_[at(a, b)] < kGiveUp;
  }
  // With how many others the value is to meet.
  std::size_t degree(std::size_t a) const {
    std::size_t n = 0;
    for (std::size_t b = 0; b < n_; ++b) n += is_open(a, b) ? 1 : 0;
    return n;
  }
  void tried(std::size_t a, std::size_t b) { ++tries_[at(a, b)]; }
  // Two values were chosen, and what was made has not both. One of a third value may be the reason: if it was so twice, the two are
  // not chosen again together but as the two that a case is made for.
  void doubt(const std::vector<std::size_t>& chosen, const std::vector<std::size_t>& had) {
    each(chosen, [&](std::size_t i) { doubts_[i] = static_cast<std::uint8_t>(std::min(doubts_[i] + 1, 3)); });
    each(had, [&](std::size_t i) { doubts_[i] = 0; });
  }
  bool is_doubted(std::size_t a, std::size_t b) const { return doubts_[at(a, b)] >= 2; }
  std::size_t take(const std::vector<std::size_t>& values) {
    std::size_t fresh = 0;
    each(values, [&](std::size_t i) {
      fresh += met_[i] ? 0 : 1;
      met_[i] = true;
    });
    return fresh;
  }
  std::size_t would_be_new(const std::vector<std::size_t>& values) const {
    std::size_t fresh = 0;
    each(values, [&](std::size_t i) { fresh += met_[i] ? 0 : 1; });
    return fresh;
  }
  std::vector<std::pair<std::size_t, std::size_t>> open() const {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t a = 0; a < n_; ++a)
      for (std::size_t b = a + 1; b < n_; ++b)
        if (is_open(a, b)) all.emplace_back(a, b);
    return all;
  }

 private:
  std::size_t at(std::size_t a, std::size_t b) const { return std::min(a, b) * n_ + std::max(a, b); }
  template <class Function>
  void each(const std::vector<std::size_t>& values, const Function& function) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t k = i + 1; k < values.size(); ++k) function(at(values[i], values[k]));
  }

  std::size_t n_;
  std::vector<bool> met_;
  std::vector<std::uint8_t> tries_, doubts_;
};

class Array {
 public:
  Array(const Operator& op, Dtype dtype, std::uint64_t key, std::uint64_t block)
      : op_(op), dtype_(dtype), key_(key), block_(block) {}
  // Made in order, as far as they are asked for.
  Case at(std::uint64_t i) {
    const std::scoped_lock lock(mutex_);
    if (universes_ == nullptr) {
      universes_ = &universes_of(op_, dtype_);
      for (const Universe& u : *universes_) pairs_.emplace_back(u);
    }
    while (cases_.size() <= i) cases_.push_back(next(cases_.size()));
    return cases_[i];
  }

 private:
  const ShapeAlternative& alternative(std::size_t a) const { return shape_rule(op_).alternatives[a]; }

  Factors wish_of(std::size_t a, const std::vector<std::size_t>& chosen) const {
    Factors wish;
    for (const std::size_t v : chosen)
      wish.emplace((*universes_)[a].values[v].factor, (*universes_)[a].values[v].name);
    return wish;
  }

  // The value that an array after the first holds in every second case.
  void hold(std::uint64_t i, std::size_t a, std::vector<std::size_t>& chosen) const {
    const Universe& u = (*universes_)[a];
    if (block_ == 0 || i % 2 == 1 || u.values.empty()) return;
    const std::size_t held = (block_ - 1) % u.values.size();
    const auto same = [&](std::size_t v) {
      return u.values[v].factor_number == u.values[held].factor_number;
    };
    if (std::ranges::none_of(chosen, same)) chosen.push_back(held);
  }

  // Beside two values, for each other factor the one that meets most of those chosen for the first time.
  void choose_others(Draw& draw, std::size_t a, const SizeBudget& budget,
                     std::vector<std::size_t>& chosen) const {
    const Universe& u = (*universes_)[a];
    for (const std::int64_t f : draw.permutation(u.by_factor.size())) {
      const auto taken = [&](std::size_t v) {
        return u.values[v].factor_number == static_cast<std::size_t>(f);
      };
      if (std::ranges::any_of(chosen, taken)) continue;
      std::size_t best = 0, best_gain = 0;
      std::vector<std::size_t> values = u.by_factor[static_cast<std::size_t>(f)];
      std::rotate(values.begin(),
                  values.begin() + draw.range(0, static_cast<std::int64_t>(values.size()) - 1), values.end());
      for (const std::size_t v : values) {
        const auto gain = static_cast<std::size_t>(
            std::ranges::count_if(chosen, [&](std::size_t other) { return pairs_[a].is_open(v, other); }));
        if (gain <= best_gain ||
            std::ranges::any_of(chosen, [&](std::size_t other) { return pairs_[a].is_doubted(v, other); }))
          continue;
        best = v;
        best_gain = gain;
      }
      if (best_gain == 0) continue;
      chosen.push_back(best);
      if (!may_fit(alternative(a), wish_of(a, chosen), budget)) chosen.pop_back();
    }
  }

  // Of some open pairs the one whose values are to meet the most others: what is left over at the end is then little.
  std::pair<std::size_t, std::size_t> most_wanted(
      Draw& draw, std::size_t a, const std::vector<std::pair<std::size_t, std::size_t>>& open) const {
    std::pair<std::size_t, std::size_t> best;
    std::size_t most = 0;
    for (int k = 0; k < kLooks; ++k) {
      const auto pair = draw.pick(open);
      const std::size_t degree = pairs_[a].degree(pair.first) + pairs_[a].degree(pair.second);
      if (degree < most) continue;
      best = pair;
      most = degree;
    }
    return best;
  }

  Case next(std::uint64_t i) {
    const std::size_t a = i % universes_->size();
    Draw draw(mix(key_, i));
    std::optional<Case> best;
    std::size_t best_gain = 0;
    std::vector<std::pair<std::size_t, std::size_t>> open = pairs_[a].open();
    for (int target = 0; target < kTargets && !open.empty(); ++target) {
      const auto [one, other] = most_wanted(draw, a, open);
      std::erase(open, std::pair{one, other});
      const bool small = may_fit(alternative(a), wish_of(a, {one, other}), kUsual);
      if (!small && large_ >= kMostLarge) continue;
      const SizeBudget& budget = small ? kUsual : kFew;
      std::vector<std::size_t> chosen{one, other};
      if (!may_fit(alternative(a), wish_of(a, chosen), budget)) {
        pairs_[a].tried(one, other);
        continue;
      }
      hold(i, a, chosen);
      choose_others(draw, a, budget, chosen);
      // All that was chosen, half of it, the two alone: what does not go together is not known before.
      for (const std::size_t part : {chosen.size(), chosen.size(), (chosen.size() + 2) / 2, std::size_t{2}}) {
        chosen.resize(part);
        std::optional<Case> c = wished_case(draw, op_, dtype_, alternative(a), wish_of(a, chosen), budget);
        const bool made = c && match_case(*c).alternative == static_cast<int>(a);
        const std::vector<std::size_t> had =
            made ? (*universes_)[a].numbers(factors_of(*c)) : std::vector<std::size_t>{};
        pairs_[a].doubt(chosen, had);
        if (!made) continue;
        const std::size_t gain = pairs_[a].would_be_new(had);
        if (!best || gain > best_gain) {
          best = std::move(c);
          best_gain = gain;
        }
        break;
      }
      pairs_[a].tried(one, other);
      if (best_gain > 0) {
        large_ += small ? 0 : 1;
        break;
      }
    }
    for (std::uint64_t attempt = 0; !best; ++attempt)
      if (Case c = random_case(op_, dtype_, mix(mix(key_, i), attempt), false); check_case(c).ok())
        best = std::move(c);
    const ShapeMatch match = match_case(*best);
    const auto of = static_cast<std::size_t>(match.alternative);
    pairs_[of].take((*universes_)[of].numbers(factors_of(*best)));
    return *std::move(best);
  }

  std::mutex mutex_;
  const Operator& op_;
  Dtype dtype_;
  std::uint64_t key_, block_;
  const std::vector<Universe>* universes_ = nullptr;
  std::vector<Pairs> pairs_;
  std::vector<Case> cases_;
  int large_ = 0;
};

}  // namespace

Case covering_case(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t number) {
  using Key = std::tuple<const Operator*, Dtype, std::uint64_t, std::uint64_t>;
  struct Kept {
    Key key;
    std::shared_ptr<Array> array;
  };
  static std::mutex mutex;
  static std::vector<Kept> kept;  // the last asked for stands last
  const std::uint64_t block = number / kCoveringBlock;
  const Key key{&op, result_dtype, seed, block};
  std::shared_ptr<Array> array;
  {
    const std::scoped_lock lock(mutex);
    const auto found = std::ranges::find(kept, key, &Kept::key);
    if (found != kept.end()) {
      std::rotate(found, found + 1, kept.end());
    } else {
      if (kept.size() >= kKept) kept.erase(kept.begin());
      const std::uint64_t own =
          mix(mix(mix(seed, hash(op.schema.name)), static_cast<std::uint64_t>(result_dtype)),
              mix(hash("covering"), block));
      kept.push_back({key, std::make_shared<Array>(op, result_dtype, own, block)});
    }
    array = kept.back().array;
  }
  return array->at(number % kCoveringBlock);
}

}  // namespace assay

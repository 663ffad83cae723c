#include "covering.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "cases.h"
#include "check_case.h"
#include "families.h"
#include "met.h"
#include "random.h"
#include "random_case.h"
#include "universe.h"
#include "wished.h"

namespace assay {
namespace {

constexpr SizeBudget kUsual{16'384, 200'000};
constexpr SizeBudget kFew{1 << 18, 2 << 20};  // for kMostLarge cases of an array
constexpr SizeBudget kOfThrees{};             // no more than drawn cases have, in whose place these stand
constexpr int kMostLarge = 4;
constexpr std::size_t kDataOneIn =
    4;  // cases whose kind of data comes by turns, unless it is one that is to meet something
constexpr int kTargets = 6;  // pairs that are tried for one case
constexpr int kLooks = 6;    // open pairs of which one is the target
constexpr int kThrees = 4;   // cases for an open triple each, of which that with most is taken
constexpr int kLooksForThree = 64;
constexpr std::size_t kMostTriples = 1 << 16;  // that one value can bring
constexpr std::size_t kKept = 192;             // arrays in memory

using Chosen = std::vector<std::size_t>;  // numbers of values, of one factor each

// What met in the cases of one alternative of the shape rule.
struct Met {
  explicit Met(const Universe& u) : universe(u), pairs(u), triples(u) {}
  const Universe& universe;
  Pairs pairs;
  Triples triples;

  bool has_factor(const Chosen& chosen, std::size_t factor_number) const {
    return std::ranges::any_of(
        chosen, [&](std::size_t v) { return universe.values[v].factor_number == factor_number; });
  }
  bool is_doubted(std::size_t v, const Chosen& chosen) const {
    return std::ranges::any_of(chosen, [&](std::size_t other) { return pairs.is_doubted(v, other); });
  }
  // How many pairs the value would bring with those chosen.
  std::size_t new_pairs(std::size_t v, const Chosen& chosen) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(chosen, [&](std::size_t other) { return pairs.is_open(v, other); }));
  }
  // How many triples, or none where the value has not met one of those chosen: it may be that it cannot.
  std::size_t new_triples(std::size_t v, const Chosen& chosen) const {
    if (!std::ranges::all_of(chosen, [&](std::size_t other) { return pairs.have_met(v, other); })) return 0;
    return triples.would_be_new(v, chosen);
  }
};

class Array {
 public:
  Array(const Operator& op, Dtype dtype, std::uint64_t seed, std::uint64_t block)
      : op_(op),
        dtype_(dtype),
        seed_(seed),
        key_(mix(mix(mix(seed, hash(op.schema.name)), static_cast<std::uint64_t>(dtype)),
                 mix(hash("covering"), block))),
        block_(block) {}
  // Made in order, as far as they are asked for.
  Case at(std::uint64_t i) {
    const std::scoped_lock lock(mutex_);
    if (met_.empty()) begin();
    while (cases_.size() <= i) cases_.push_back(next(cases_.size()));
    return cases_[i];
  }

 private:
  // What other cases of the run bring together is not for the first array.
  void begin() {
    for (const Universe& u : universes_of(op_, dtype_)) met_.emplace_back(u);
    if (block_ > 0) return;
    for (const Case& c : cases_beside_covering(op_, dtype_, seed_)) take(c);
  }
  void take(const Case& c) {
    const int alternative = match_case(c).alternative;
    if (alternative < 0) return;  // of a graph, whose nodes decide what its rule of shapes does not say
    const auto of = static_cast<std::size_t>(alternative);
    const Chosen values = had(of, c);
    met_[of].pairs.take(values);
    met_[of].triples.take(values);
  }

  const ShapeAlternative& alternative(std::size_t a) const { return shape_rule(op_).alternatives[a]; }

  Factors wish_of(std::size_t a, const Chosen& chosen) const {
    Factors wish;
    for (const std::size_t v : chosen)
      wish.emplace(met_[a].universe.values[v].factor, met_[a].universe.values[v].name);
    return wish;
  }
  bool fit(std::size_t a, const Chosen& chosen, const SizeBudget& budget) const {
    return may_fit(alternative(a), wish_of(a, chosen), budget);
  }

  // The value that an array after the first holds in every second case.
  void hold(std::uint64_t i, std::size_t a, Chosen& chosen) const {
    const Universe& u = met_[a].universe;
    if (block_ == 0 || i % 2 == 1 || u.values.empty()) return;
    const std::size_t held = (block_ - 1) % u.values.size();
    if (!met_[a].has_factor(chosen, u.values[held].factor_number)) chosen.push_back(held);
  }

  // Beside values, for each other factor the one that brings most together with those chosen.
  template <class Gain>  // (value, chosen)
  void choose_others(Draw& draw, std::size_t a, const SizeBudget& budget, Chosen& chosen,
                     const Gain& gain) const {
    const Universe& u = met_[a].universe;
    for (const std::int64_t f : draw.permutation(u.by_factor.size())) {
      if (met_[a].has_factor(chosen, static_cast<std::size_t>(f))) continue;
      std::size_t best = 0, best_gain = 0;
      Chosen values = u.by_factor[static_cast<std::size_t>(f)];
      std::rotate(values.begin(),
                  values.begin() + draw.range(0, static_cast<std::int64_t>(values.size()) - 1), values.end());
      for (const std::size_t v : values) {
        const std::size_t own = gain(v, chosen);
        if (own <= best_gain || met_[a].is_doubted(v, chosen)) continue;
        best = v;
        best_gain = own;
      }
      if (best_gain == 0) continue;
      chosen.push_back(best);
      if (!fit(a, chosen, budget)) chosen.pop_back();
    }
  }

  // Of some open pairs the one whose values are to meet the most others: what is left over at the end is then little.
  std::pair<std::size_t, std::size_t> most_wanted(
      Draw& draw, std::size_t a, const std::vector<std::pair<std::size_t, std::size_t>>& open) const {
    std::pair<std::size_t, std::size_t> best;
    std::size_t most = 0;
    for (int k = 0; k < kLooks; ++k) {
      const auto pair = draw.pick(open);
      const std::size_t degree = met_[a].pairs.degree(pair.first) + met_[a].pairs.degree(pair.second);
      if (degree < most) continue;
      best = pair;
      most = degree;
    }
    return best;
  }

  // A case of all that was chosen, of half of it, of the first `least` alone: what does not go together is not known before.
  std::optional<Case> make(Draw& draw, std::size_t a, Chosen chosen, std::size_t least,
                           const SizeBudget& budget) {
    for (const std::size_t part : {chosen.size(), chosen.size(), (chosen.size() + least) / 2, least}) {
      chosen.resize(part);
      Factors wish = wish_of(a, chosen);
      // Kinds of data that meet nothing occur, too, whatever is drawn.
      if (cases_.size() % kDataOneIn == 0) wish.emplace("data", data_in_turn());
      std::optional<Case> c = wished_case(draw, op_, dtype_, alternative(a), wish, budget);
      const bool made = c && match_case(*c).alternative == static_cast<int>(a);
      met_[a].pairs.doubt(chosen, made ? had(a, *c) : Chosen{});
      if (made) return c;
    }
    return std::nullopt;
  }

  std::string_view data_in_turn() const {
    std::vector<std::string_view> names;
    for (const Family& f : families())
      if (weight_for(op_, f) > 0) names.push_back(f.name);
    return names[cases_.size() / kDataOneIn % names.size()];
  }

  Chosen had(std::size_t a, const Case& c) const { return met_[a].universe.numbers(factors_of(c)); }

  // For a pair that has not met.
  std::optional<Case> for_pair(Draw& draw, std::uint64_t i, std::size_t a) {
    std::optional<Case> best;
    std::size_t best_gain = 0;
    Pairs& pairs = met_[a].pairs;
    std::vector<std::pair<std::size_t, std::size_t>> open = pairs.open();
    for (int target = 0; target < kTargets && !open.empty(); ++target) {
      const auto [one, other] = most_wanted(draw, a, open);
      std::erase(open, std::pair{one, other});
      const bool small = fit(a, {one, other}, kUsual);
      if (!small && large_ >= kMostLarge) continue;
      const SizeBudget& budget = small ? kUsual : kFew;
      Chosen chosen{one, other};
      if (!fit(a, chosen, budget)) {
        pairs.tried(one, other);
        continue;
      }
      hold(i, a, chosen);
      // Of values of as many pairs, that with most triples.
      choose_others(draw, a, budget, chosen, [&](std::size_t v, const Chosen& of) {
        const std::size_t fresh = met_[a].new_pairs(v, of);
        return fresh == 0 ? 0 : fresh * kMostTriples + met_[a].triples.would_be_new(v, of);
      });
      if (std::optional<Case> c = make(draw, a, chosen, 2, budget)) {
        const std::size_t gain = pairs.would_be_new(had(a, *c));
        if (!best || gain > best_gain) {
          best = std::move(c);
          best_gain = gain;
        }
      }
      pairs.tried(one, other);
      if (best_gain > 0) {
        large_ += small ? 0 : 1;
        break;
      }
    }
    if (best_gain == 0) return std::nullopt;
    return best;
  }

  // Three values, each two of which met.
  std::optional<Chosen> open_triple(Draw& draw, std::size_t a) const {
    const Met& met = met_[a];
    if (met.universe.by_factor.size() < 3) return std::nullopt;
    for (int look = 0; look < kLooksForThree; ++look) {
      const std::vector<std::int64_t> factors = draw.permutation(met.universe.by_factor.size());
      Chosen three;
      for (std::size_t k = 0; k < 3; ++k)
        three.push_back(draw.pick(met.universe.by_factor[static_cast<std::size_t>(factors[k])]));
      if (met.triples.is_open(three[0], three[1], three[2]) && met.pairs.have_met(three[0], three[1]) &&
          met.pairs.have_met(three[0], three[2]) && met.pairs.have_met(three[1], three[2]))
        return three;
    }
    return std::nullopt;
  }

  // For three values that have not met, once pairs have.
  std::optional<Case> for_triple(Draw& draw, std::size_t a) {
    std::optional<Case> best;
    std::size_t best_gain = 0;
    for (int n = 0; n < kThrees; ++n) {
      std::optional<Chosen> chosen = open_triple(draw, a);
      if (!chosen || !fit(a, *chosen, kOfThrees)) continue;
      choose_others(draw, a, kOfThrees, *chosen,
                    [&](std::size_t v, const Chosen& of) { return met_[a].new_triples(v, of); });
      std::optional<Case> c = make(draw, a, *chosen, 3, kOfThrees);
      if (!c) continue;
      const std::size_t gain = met_[a].triples.would_be_new(had(a, *c));
      if (gain <= best_gain) continue;
      best = std::move(c);
      best_gain = gain;
    }
    return best;
  }

  Case next(std::uint64_t i) {
    const std::size_t a = i % met_.size();
    Draw draw(mix(key_, i));
    std::optional<Case> c = for_pair(draw, i, a);
    if (!c) c = for_triple(draw, a);
    for (std::uint64_t attempt = 0; !c; ++attempt)
      if (Case drawn = random_case(op_, dtype_, mix(mix(key_, i), attempt), false); check_case(drawn).ok())
        c = std::move(drawn);
    take(*c);
    return *std::move(c);
  }

  std::mutex mutex_;
  const Operator& op_;
  Dtype dtype_;
  std::uint64_t seed_, key_, block_;
  std::vector<Met> met_;  // of each alternative
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
      kept.push_back({key, std::make_shared<Array>(op, result_dtype, seed, block)});
    }
    array = kept.back().array;
  }
  return array->at(number % kCoveringBlock);
}

}  // namespace assay

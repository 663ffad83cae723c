// What an element has more than is right is compared with what each fault would add to it, which is a difference of running sums over the
// steps: for all ranges of steps, and all distances from which a tile may have been taken.
#include "tiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "linear.h"
#include "products.h"
#include "region.h"
#include "relation.h"
#include "tile_fault.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostElementsOfTile = 24, kLeastElementsOfTile = 6, kMostTiles = 3;
constexpr double kClearOfTile =
    8;  // an element says something if it is off by so many times what it is unsure
constexpr std::int64_t kMostSteps = 8192;        // of a sum
constexpr std::int64_t kMostDistance = 512;      // from which a tile is taken
constexpr double kMostOfAnyLength = 2e8;         // ranges that are tried
constexpr std::int64_t kMostForTwoRanges = 192;  // steps: of any two ranges there are many
constexpr double kFitsByChance = 1e-4;           // faults of a kind that fit all elements by chance
constexpr std::uint64_t kTelling =
    1000;                             // faults tried, from which on the share that fits an element is known
constexpr double kShare = 0.1;        // until then
constexpr double kWholeBlock = 0.98;  // of the results: what diverges is everything

class Tiles {
 public:
  Tiles(Evidence& evidence, int output, const Products& products)
      : evidence_(evidence),
        output_(output),
        products_(products),
        region_(evidence.call().outputs[static_cast<std::size_t>(output)].shape, evidence.mask(output)) {
    look();
  }

  std::vector<Variant> find() {
    std::set<double> different;
    for (const Looked& l : looked_) different.insert(l.more.more);
    if (different.size() < kLeastElementsOfTile) return {};
    const diff::Mask& mask = evidence_.mask(output_);
    if (!region_.is_block) region_.only(mask);
    search();
    // What fits everything that diverges, and not the block around it, is at these places alone.
    const bool scattered = static_cast<double>(mask.count()) < kWholeBlock * static_cast<double>(mask.size());
    if (region_.is_block && scattered) {
      const std::size_t before = found_.size();
      region_.only(mask);
      if (before == 0)
        search();
      else
        for (const TileFault& c : std::vector<TileFault>(candidates_)) found_.push_back(variant(c));
    }
    return std::move(found_);
  }

 private:
  void search() {
    if (region_.everywhere)
      for (const int which : {1, 0}) offset(which);
    // Of numbers that are no integers, these are among those that are read off any operator's results (terms.h).
    if (!region_.everywhere || !is_float(evidence_.call().outputs[0].dtype)) ranges();
    if (found_.empty()) stale();
    if (found_.empty()) two_tiles();
    if (found_.empty() && products_.steps <= kMostForTwoRanges) two_ranges();
  }

  struct Looked {
    Surplus more;
    std::vector<double> first, second;  // factors, of all steps
    std::vector<double> before;         // running sums: of no step, of one, ..
  };

  // Elements that diverge clearly, spread over the others; the clearest first, because all ranges are tried on it.
  void look() {
    std::vector<std::int64_t> wrong;
    for (const Element& e : evidence_.tried())
      if (e.output == output_ && e.diverges) wrong.push_back(e.at);
    const std::size_t step = std::max<std::size_t>(1, wrong.size() / kMostElementsOfTile);
    const TensorData* given[2];
    for (const int which : {0, 1})
      given[which] = &std::get<TensorData>(evidence_.call().arguments[products_.argument[which]]);
    for (std::size_t i = 0; i < wrong.size() && looked_.size() < kMostElementsOfTile; i += step) {
      const auto s = surplus(evidence_, output_, wrong[i]);
      if (!s || std::fabs(s->more) <= kClearOfTile * s->within) continue;
      Looked l{*s, {}, {}, {0}};
      double sum = 0;
      std::int64_t n = 0;
      for (const Product& p : products_.products(wrong[i])) {
        const double a = p.first < 0 ? 0 : given[0]->get(p.first),
                     b = p.first < 0 ? 0 : given[1]->get(p.second);
        l.first.push_back(a);
        l.second.push_back(b);
        sum += products_.factor * a * b;
        if (++n % products_.inner == 0) l.before.push_back(sum);
      }
      if (std::isfinite(sum)) looked_.push_back(std::move(l));
    }
    const auto clearness = [](const Looked& l) { return std::fabs(l.more.more) / l.more.within; };
    if (const auto best = std::ranges::max_element(looked_, {}, clearness); best != looked_.end())
      std::iter_swap(best, looked_.begin());
  }

  static double part(const Looked& l, StepRange s) {
    return l.before[static_cast<std::size_t>(s.end)] - l.before[static_cast<std::size_t>(s.begin)];
  }

  // What the steps are with one tensor's factors from elsewhere, less what they are.
  double stale_part(const Looked& l, TileFaultKind tile, StepRange s, std::int64_t distance) const {
    double sum = 0;
    const std::int64_t n = products_.inner;
    for (std::int64_t i = s.begin * n; i < s.end * n; ++i) {
      const auto own = static_cast<std::size_t>(i), from = static_cast<std::size_t>(i - distance * n);
      sum += tile == TileFaultKind::first_stale ? (l.first[from] - l.first[own]) * l.second[own]
                                                : (l.second[from] - l.second[own]) * l.first[own];
    }
    return products_.factor * sum;
  }

  double adds(const Looked& l, const TileFault& c) const {
    switch (c.tile) {
      case TileFaultKind::left_out:
        return -part(l, c.steps);
      case TileFaultKind::twice:
        return part(l, c.steps);
      case TileFaultKind::two_left_out:
        return -part(l, c.steps) - part(l, c.others);
      case TileFaultKind::both_stale:
        return part(l, {c.steps.begin - c.distance, c.steps.end - c.distance}) - part(l, c.steps);
      default:
        return stale_part(l, c.tile, c.steps, c.distance);
    }
  }

  bool fits(const Looked& l, double adds) const { return std::fabs(adds - l.more.more) <= 2 * l.more.within; }

  // Whether enough is found. `adds`: what the candidate adds to the first element.
  bool take(const TileFault& c, double adds_to_first) {
    ++tried_;
    if (!fits(looked_[0], adds_to_first)) return false;
    ++fitting_first_;
    if (!std::ranges::all_of(looked_, [&](const Looked& l) { return fits(l, adds(l, c)); })) return false;
    // Of numbers of which there are few, as small integers, many ranges fit an element.
    const double share =
        tried_ < kTelling ? kShare : static_cast<double>(fitting_first_) / static_cast<double>(tried_);
    if (static_cast<double>(tried_) * std::pow(share, static_cast<double>(looked_.size())) > kFitsByChance)
      return false;
    candidates_.push_back(c);
    found_.push_back(variant(c));
    return found_.size() == kMostTiles;
  }

  // Not of all steps: nothing but zeros, or twice what is right, others say better.
  void ranges() {
    for (const TileFaultKind tile : {TileFaultKind::left_out, TileFaultKind::twice})
      for (std::int64_t n = 1; n < products_.steps; ++n) {
        stop_point();
        for (std::int64_t k = 0; k + n <= products_.steps; ++k) {
          const TileFault c{tile, {k, k + n}};
          if (take(c, adds(looked_[0], c))) return;
        }
      }
  }

  // A whole tile of that of the step before first, or what is left for the last tile; then any shorter range.
  void stale() {
    const std::int64_t most = std::min(products_.steps - 1, kMostDistance);
    for (const bool whole : {true, false})
      for (std::int64_t n = 1; n <= most; ++n) {
        if (!whole && static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(products_.steps) >
                          kMostOfAnyLength)
          break;
        for (const TileFaultKind tile :
             {TileFaultKind::first_stale, TileFaultKind::second_stale, TileFaultKind::both_stale})
          for (const std::int64_t distance : {n, -n})
            if (of_distance(tile, distance, whole)) return;
        if (whole && !found_.empty()) return;
      }
  }

  bool of_distance(TileFaultKind tile, std::int64_t distance, bool whole) {
    stop_point();
    const std::int64_t steps = products_.steps, n = std::abs(distance);
    const std::int64_t least = std::max<std::int64_t>(distance, 0),
                       most = steps + std::min<std::int64_t>(distance, 0);
    // What each step adds to the first element.
    std::vector<double> running{0};
    for (std::int64_t k = least; k < most; ++k) {
      const StepRange one{k, k + 1};
      running.push_back(running.back() +
                        (tile == TileFaultKind::both_stale
                             ? part(looked_[0], {k - distance, k - distance + 1}) - part(looked_[0], one)
                             : stale_part(looked_[0], tile, one, distance)));
    }
    const auto take_range = [&](std::int64_t begin, std::int64_t end) {
      return take({tile, {begin, end}, {}, distance}, running[static_cast<std::size_t>(end - least)] -
                                                          running[static_cast<std::size_t>(begin - least)]);
    };
    for (std::int64_t k = least; k < most; ++k) {
      if (whole) {
        if (k + n <= most && take_range(k, k + n)) return true;
        if (most - k < n && distance > 0 && take_range(k, most)) return true;
      } else {
        for (std::int64_t end = k + 1; end < std::min(k + n, most); ++end)
          if (take_range(k, end)) return true;
      }
    }
    return false;
  }

  // Of all tiles that begin at multiples of their size, any two.
  void two_tiles() {
    for (std::int64_t n = products_.steps / 2; n > 0; --n) {
      stop_point();
      const std::int64_t tiles = (products_.steps + n - 1) / n;
      const auto tile = [&](std::int64_t t) {
        return StepRange{t * n, std::min((t + 1) * n, products_.steps)};
      };
      for (std::int64_t t = 0; t < tiles; ++t)
        for (std::int64_t u = t + 2; u < tiles; ++u)
          if (const TileFault c{TileFaultKind::two_left_out, tile(t), tile(u)}; take(c, adds(looked_[0], c)))
            return;
      if (!found_.empty()) return;
    }
  }

  void two_ranges() {
    struct Sum {
      double sum;
      StepRange steps;
    };
    std::vector<Sum> all;
    for (std::int64_t k = 0; k < products_.steps; ++k)
      for (std::int64_t end = k + 1; end <= products_.steps; ++end)
        all.push_back({part(looked_[0], {k, end}), {k, end}});
    std::ranges::sort(all, {}, &Sum::sum);
    const double within = 2 * looked_[0].more.within;
    for (const Sum& s : all) {
      stop_point();
      const double other = -looked_[0].more.more - s.sum;
      tried_ += all.size() - 1;  // of which those that do not fit the first element are passed over
      for (auto u = std::ranges::lower_bound(all, other - within, {}, &Sum::sum);
           u != all.end() && u->sum <= other + within; ++u)
        if (s.steps.end < u->steps.begin) {
          const TileFault c{TileFaultKind::two_left_out, s.steps, u->steps};
          if (take(c, adds(looked_[0], c))) return;
        }
    }
  }

  // A number that is added to each element of a tensor. It is the fewest digits that all elements allow.
  void offset(int which) {
    const auto& t = std::get<TensorData>(evidence_.call().arguments[products_.argument[which]]);
    if (t.dtype != Dtype::f32 && t.dtype != Dtype::f64) return;
    const auto times = [&](const Looked& l) {
      const std::vector<double>& beside = which == 0 ? l.second : l.first;
      double sum = 0;
      for (const double x : beside) sum += x;
      return products_.factor * sum;
    };
    double both = 0, squares = 0;
    std::set<double> different;
    for (const Looked& l : looked_) {
      const double x = times(l), weight = 1 / (l.more.within * l.more.within);
      both += weight * x * l.more.more;
      squares += weight * x * x;
      different.insert(x);
    }
    if (!(squares > 0) || different.size() < kLeastElementsOfTile) return;
    const double number = both / squares;
    if (!std::ranges::all_of(looked_, [&](const Looked& l) { return fits(l, number * times(l)); })) return;
    found_.push_back(added(which, std::strtod(few_digits(number, 1 / std::sqrt(squares)).c_str(), nullptr)));
  }

  std::string_view name_of(int which) const {
    return evidence_.call().op->schema.argument_storage[products_.argument[which]].name;
  }

  Variant added(int which, double number) const {
    Variant v;
    const std::string_view name = name_of(which);
    v.name = fmt::format("{}.with_an_offset", name);
    v.says = fmt::format(
        "takes {} to be {:.6g} too {}, the same for all of its elements, as where one zero point of all is wrong",
        name, std::fabs(number), number > 0 ? "large" : "small");
    v.argument = static_cast<int>(products_.argument[which]);
    v.arguments = [argument = products_.argument[which], number](Call& call) {
      auto* t = std::get_if<TensorData>(&call.arguments[argument]);
      if (t == nullptr) return false;
      for (std::int64_t i = 0; i < t->numel(); ++i) t->set(i, t->get(i) + number);
      return true;
    };
    return v;
  }

  Variant variant(const TileFault& c) const {
    return variant_of(c, evidence_.call(), output_, products_, region_);
  }

  Evidence& evidence_;
  int output_;
  const Products& products_;
  Region region_;
  std::vector<Looked> looked_;
  std::vector<TileFault> candidates_;
  std::vector<Variant> found_;
  std::uint64_t tried_ = 0, fitting_first_ = 0;
};

}  // namespace

std::vector<Variant> tiles_of(Evidence& evidence) {
  const std::optional<Products> products = Products::of(evidence.call());
  const bool diverges = evidence.has(0) && evidence.mask(0).count() > 0;
  if (!products || !diverges || products->steps > kMostSteps || products->steps < 2) return {};
  const auto until = std::chrono::steady_clock::now() + kMostForLinear;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    return Tiles(evidence, 0, *products).find();
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return {};
}

}  // namespace assay::diagnose

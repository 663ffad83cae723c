#include "moved.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "linear.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kLeastWrong = 12, kLeastNumbers = 8;
constexpr std::size_t kMostProbes = 24, kMostPlaces = 256, kMostSources = 4096;
constexpr std::int64_t kMostIndices = 1 << 16, kLeastOfAnIndex = 2;
constexpr double kSame = 1e-3;
constexpr double kAlike = 1e-4;  // of the largest: numbers so near may be one another's, to be looked at
constexpr std::size_t kMostShownIndices = 6;

// An element is that of its own index `from[index]` along a dimension.
using Indices = std::vector<std::int64_t>;

struct Strides {
  std::int64_t size, inner;
  Strides(const Shape& shape, std::size_t dimension) : size(shape[dimension]), inner(1) {
    for (std::size_t d = dimension + 1; d < shape.size(); ++d) inner *= shape[d];
  }
  std::int64_t index(std::int64_t at) const { return at / inner % size; }
};

template <class F>
bool is_all(const Indices& from, const F& f) {
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != f(static_cast<std::int64_t>(i))) return false;
  return true;
}

struct Order {
  std::string name, says;
};

Order interleaved(std::int64_t parts, std::int64_t of_each, std::size_t dimension) {
  return {fmt::format("results.interleaved_by_{}_in_dimension_{}", parts, dimension),
          of_each < parts
              ? fmt::format("stores every {} index of dimension {} together",
                            of_each == 2   ? std::string("second")
                            : of_each == 3 ? "third"
                                           : fmt::format("{}th", of_each),
                            dimension)
              : fmt::format("stores {} parts of dimension {} interleaved, one index of each in turn", parts,
                            dimension)};
}

// What stands where, in few words.
Order order_of(const Indices& from, std::size_t dimension) {
  const auto n = static_cast<std::int64_t>(from.size());
  Indices moved;
  for (std::int64_t i = 0; i < n; ++i)
    if (from[static_cast<std::size_t>(i)] != i) moved.push_back(i);
  const auto source = [&](std::int64_t i) { return from[static_cast<std::size_t>(i)]; };
  const std::string of = fmt::format("of dimension {}", dimension);
  if (moved.size() == 2 && source(moved[0]) == moved[1] && source(moved[1]) == moved[0])
    return {fmt::format("results.exchanged_in_dimension_{}", dimension),
            fmt::format("has what belongs to indices {} and {} {} exchanged", moved[0], moved[1], of)};
  // Of some indices, which may go on round the end.
  const std::int64_t by = source(moved[0]) - moved[0];
  for (const std::int64_t so_far : {by, by > 0 ? by - n : by + n}) {
    const bool straight = std::ranges::all_of(moved, [&](std::int64_t i) { return source(i) - i == so_far; });
    const bool round = std::abs(so_far) <= n / 2 && std::ranges::all_of(moved, [&](std::int64_t i) {
                         return (source(i) - i - so_far) % n == 0;
                       });
    if (moved.size() == from.size() || (!straight && !round)) continue;
    return {fmt::format("results.displaced_by_{}_in_dimension_{}", so_far, dimension),
            fmt::format("gives, at the elements that diverge, what belongs {} {} in dimension {}{}",
                        std::abs(so_far), so_far > 0 ? "further on" : "earlier", dimension,
                        straight ? "" : ", and round its end")};
  }
  for (std::int64_t block = 2; block <= n; ++block) {
    const std::string in = block == n ? std::string() : fmt::format(" within each {}", block);
    const std::string suffix = block == n ? std::string() : fmt::format("_in_{}s", block);
    const auto end = [&](std::int64_t i) { return std::min(i / block * block + block, n); };
    if (n % block == 0 && is_all(from, [&](std::int64_t i) { return i / block * block + end(i) - 1 - i; }))
      return {fmt::format("results.reversed_in_dimension_{}{}", dimension, suffix),
              fmt::format("stores indices {} in reverse order{}", of, in)};
    const std::int64_t turn = (source(0) % block + block) % block;
    const bool exchanges = 2 * turn == block && block < n;  // two blocks of half the size, which says more
    if (turn != 0 && !exchanges && is_all(from, [&](std::int64_t i) {
          const std::int64_t begin = i / block * block;
          return begin + (i - begin + turn) % (end(i) - begin);
        })) {
      const std::int64_t shorter = 2 * turn <= block ? turn : turn - block;
      return {fmt::format("results.rotated_by_{}_in_dimension_{}{}", shorter, dimension, suffix),
              fmt::format("gives what belongs {} {} in dimension {}, and round its end{}", std::abs(shorter),
                          shorter > 0 ? "further on" : "earlier", dimension, in)};
    }
  }
  for (std::int64_t parts = 2; parts < n; ++parts)
    if (n % parts == 0 && is_all(from, [&](std::int64_t i) { return i % parts * (n / parts) + i / parts; }))
      return interleaved(parts, n / parts, dimension);
  for (std::int64_t period = 1; 2 * period <= n; ++period)
    if (is_all(from, [&](std::int64_t i) { return i % period; }))
      return {fmt::format("results.first_{}_repeated_in_dimension_{}", period, dimension),
              period == 1 ? fmt::format("gives what belongs to the first index {} for every one", of)
                          : fmt::format("repeats the first {} indices {} to its end", period, of)};
  for (std::int64_t block = n / 2; block > 1; --block)
    if (n % block == 0 &&
        is_all(from, [&](std::int64_t i) { return source(i / block * block) + i % block; })) {
      std::vector<std::string> blocks;
      bool whole = true;
      for (std::int64_t i = 0; i < n; i += block) {
        whole = whole && source(i) % block == 0;
        if (source(i) != i && blocks.size() < kMostShownIndices)
          blocks.push_back(fmt::format("block {} is {}", i / block, source(i) / block));
      }
      if (whole)
        return {fmt::format("results.blocks_of_{}_in_another_order_in_dimension_{}", block, dimension),
                fmt::format("stores blocks of {} indices {} in another order: {}{}", block, of,
                            fmt::join(blocks, ", "), blocks.size() == kMostShownIndices ? ", .." : "")};
    }
  std::vector<std::string> shown;
  for (const std::int64_t i : moved)
    if (shown.size() < kMostShownIndices) shown.push_back(fmt::format("{} has that of {}", i, source(i)));
  Indices sorted = from;
  std::ranges::sort(sorted);
  const bool once = std::ranges::adjacent_find(sorted) == sorted.end();
  return {fmt::format("results.indices_{}_in_dimension_{}", once ? "permuted" : "mixed_up", dimension),
          fmt::format(
              "stores what belongs to other indices {}{}: {}{}", of,
              once ? ", each of them once" : ", some of them several times", fmt::join(shown, ", "),
              moved.size() > shown.size() ? fmt::format(" and {} more", moved.size() - shown.size()) : "")};
}

class Moved {
 public:
  Moved(Evidence& evidence, int output)
      : evidence_(evidence),
        output_(output),
        shape_(evidence.call().outputs[static_cast<std::size_t>(output)].shape),
        values_(evidence.expectation().values(output)) {
    const diff::Mask& mask = evidence.mask(output);
    const std::uint64_t step = std::max<std::uint64_t>(1, mask.count() / kMostPlaces);
    std::set<double> numbers;
    for (std::uint64_t e = 0, n = 0; e < mask.size(); ++e) {
      largest_ = std::max(largest_, std::isfinite(values_[e]) ? std::fabs(values_[e]) : 0);
      if (!mask[e] || n++ % step != 0) continue;
      wrong_.push_back(static_cast<std::int64_t>(e));
      numbers.insert(came(wrong_.back()));
    }
    possible_ = wrong_.size() >= kLeastWrong && numbers.size() >= kLeastNumbers && !is_added();
  }

  std::vector<Variant> find() {
    std::vector<Variant> found;
    if (!possible_) return found;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (const std::optional<Indices> from = indices(d)) found.push_back(reordered(*from, d));
    if (found.empty())
      if (auto v = displaced()) found.push_back(std::move(*v));
    return found;
  }

 private:
  double came(std::int64_t at) const { return evidence_.actual(output_, at); }
  double right(std::int64_t at) const { return values_[static_cast<std::size_t>(at)]; }

  // Of numbers that rise evenly, those further on are larger by one number: which may have been added as well.
  bool is_added() const {
    const double first = came(wrong_[0]) - right(wrong_[0]);
    return std::ranges::all_of(wrong_, [&](std::int64_t at) {
      return std::fabs(came(at) - right(at) - first) <= kSame * std::fabs(first);
    });
  }

  double rounding(double size) const {
    const Dtype stored = evidence_.stored(output_);
    return is_float(stored) ? 8 * format(stored).unit * size : 0;
  }

  bool alike(double a, double b) const {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
    return std::fabs(a - b) <= kAlike * largest_ + rounding(std::max(std::fabs(a), std::fabs(b)));
  }

  // Which index each one's results are of, as some elements show. Nothing if there is one of which they are none's.
  std::optional<Indices> indices(std::size_t d) const {
    const Strides strides(shape_, d);
    const std::int64_t n = strides.size, slice = static_cast<std::int64_t>(values_.size()) / n;
    if (n < 2 || n > kMostIndices || slice < kLeastOfAnIndex) return std::nullopt;
    std::vector<std::int64_t> probes;  // elements of index 0
    const std::int64_t apart = std::max<std::int64_t>(1, slice / static_cast<std::int64_t>(kMostProbes));
    for (std::int64_t p = 0; p < slice; p += apart)
      probes.push_back(p / strides.inner * n * strides.inner + p % strides.inner);
    const auto is_of = [&](std::int64_t i, std::int64_t source) {
      return std::ranges::all_of(probes, [&](std::int64_t p) {
        return alike(came(p + i * strides.inner), right(p + source * strides.inner));
      });
    };
    // By the probe at which indices differ most.
    const auto different = [&](std::int64_t p) {
      std::set<double> all;
      for (std::int64_t i = 0; i < n; ++i) all.insert(right(p + i * strides.inner));
      return all.size();
    };
    const std::int64_t first = *std::ranges::max_element(probes, {}, different);
    Indices order(static_cast<std::size_t>(n)), from;
    std::iota(order.begin(), order.end(), 0);
    const auto number = [&](std::int64_t i) { return right(first + i * strides.inner); };
    if (!std::ranges::all_of(order, [&](std::int64_t i) { return std::isfinite(number(i)); }))
      return std::nullopt;
    std::ranges::sort(order, {}, number);
    bool any = false;
    for (std::int64_t i = 0; i < n; ++i) {
      stop_point();
      std::optional<std::int64_t> source;
      if (is_of(i, i)) source = i;
      const double x = came(first + i * strides.inner);
      const double within = kAlike * largest_ + rounding(std::fabs(x));
      for (auto k = std::ranges::lower_bound(order, x - 2 * within, {}, number);
           !source && k != order.end() && number(*k) <= x + 2 * within; ++k)
        if (is_of(i, *k)) source = *k;
      if (!source) return std::nullopt;
      any = any || *source != i;
      from.push_back(*source);
    }
    return any ? std::optional(from) : std::nullopt;
  }

  Variant moving(Order order, std::function<std::int64_t(std::int64_t)> from) const {
    Variant v{.name = std::move(order.name), .says = std::move(order.says)};
    v.results = [from = std::move(from), shape = shape_, output = static_cast<std::size_t>(output_)](
                    std::vector<VariantResult>& results, const Call&) {
      if (results.size() <= output || results[output].shape != shape) return;
      results[output].move([&](std::size_t i) -> std::optional<std::size_t> {
        return static_cast<std::size_t>(from(static_cast<std::int64_t>(i)));
      });
    };
    v.moves = true;
    return v;
  }

  Variant reordered(const Indices& from, std::size_t d) const {
    return moving(order_of(from, d), [from, strides = Strides(shape_, d)](std::int64_t at) {
      const std::int64_t i = strides.index(at);
      return at + (from[static_cast<std::size_t>(i)] - i) * strides.inner;
    });
  }

  // The element so far on in each dimension; -1 beyond an end, unless it goes on round it.
  static std::int64_t further(std::int64_t at, const Shape& shape, const Indices& by, bool around) {
    std::int64_t there = 0, inner = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      std::int64_t i = at % shape[d] + by[d];
      at /= shape[d];
      if (!around && (i < 0 || i >= shape[d])) return -1;
      i = (i % shape[d] + shape[d]) % shape[d];
      there += i * inner;
      inner *= shape[d];
    }
    return there;
  }

  // The same distance for all that diverge. Where a number that is no common one belongs says which distances there may be.
  std::optional<Variant> displaced() const {
    std::vector<std::int64_t> sources;
    std::int64_t at = wrong_[0];
    for (const std::int64_t w : wrong_)
      if (std::isfinite(came(w)) && (!std::isfinite(came(at)) || std::fabs(came(w)) > std::fabs(came(at))))
        at = w;
    for (std::size_t e = 0; e < values_.size() && sources.size() < kMostSources; ++e)
      if (alike(came(at), values_[e])) sources.push_back(static_cast<std::int64_t>(e));
    std::vector<std::pair<Indices, bool>> distances;
    for (const std::int64_t source : sources) {
      Indices by(shape_.size()), round(shape_.size());
      std::int64_t a = at, b = source;
      for (std::size_t d = shape_.size(); d-- > 0;) {
        by[d] = b % shape_[d] - a % shape_[d];
        round[d] = 2 * std::abs(by[d]) <= shape_[d] ? by[d] : by[d] - (by[d] > 0 ? shape_[d] : -shape_[d]);
        a /= shape_[d];
        b /= shape_[d];
      }
      if (source == at) continue;
      distances.emplace_back(by, false);
      distances.emplace_back(round, true);
    }
    const auto length = [](const auto& d) {
      std::int64_t sum = 0;
      for (const std::int64_t by : d.first) sum += std::abs(by);
      return std::pair(sum, d.second);
    };
    std::ranges::sort(distances, {}, length);
    for (const auto& [by, around] : distances) {
      stop_point();
      const bool all = std::ranges::all_of(wrong_, [&, &by = by, around = around](std::int64_t w) {
        const std::int64_t there = further(w, shape_, by, around);
        return there >= 0 && alike(came(w), right(there));
      });
      if (all) return displaced_by(by, around);
    }
    return flat(sources, at);
  }

  // Along rows and on into the next ones.
  std::optional<Variant> flat(const std::vector<std::int64_t>& sources, std::int64_t at) const {
    const auto n = static_cast<std::int64_t>(values_.size());
    std::vector<std::int64_t> distances;
    for (const std::int64_t source : sources)
      if (source != at) distances.push_back(source - at);
    std::ranges::sort(distances, {}, [](std::int64_t d) { return std::abs(d); });
    for (const std::int64_t by : distances) {
      stop_point();
      if (!std::ranges::all_of(wrong_, [&](std::int64_t w) {
            return w + by >= 0 && w + by < n && alike(came(w), right(w + by));
          }))
        continue;
      const bool everywhere =
          right_ones_are([&](std::int64_t e) { return e + by < 0 || e + by >= n ? e : e + by; });
      return moving_where(everywhere,
                          {fmt::format("results.displaced_by_{}_elements", by),
                           fmt::format("gives{} what belongs {} elements {} in row-major order",
                                       everywhere ? "" : ", at the elements that diverge,", std::abs(by),
                                       by > 0 ? "further on" : "earlier")},
                          [by, n](std::int64_t e) { return e + by < 0 || e + by >= n ? e : e + by; });
    }
    return std::nullopt;
  }

  // Whether results that do not diverge are as if they were moved, too.
  bool right_ones_are(const std::function<std::int64_t(std::int64_t)>& from) const {
    std::size_t looked_at = 0;
    for (const Element& e : evidence_.tried())
      if (e.output == output_ && !e.diverges) {
        ++looked_at;
        if (!alike(e.actual, right(from(e.at)))) return false;
      }
    return looked_at > 0 || evidence_.mask(output_).count() == values_.size();
  }

  Variant moving_where(bool everywhere, Order order, std::function<std::int64_t(std::int64_t)> from) const {
    if (everywhere) return moving(std::move(order), std::move(from));
    return moving(std::move(order), [from = std::move(from), mask = std::make_shared<const diff::Mask>(
                                                                 evidence_.mask(output_))](std::int64_t e) {
      return (*mask)[static_cast<std::uint64_t>(e)] ? from(e) : e;
    });
  }

  Variant displaced_by(const Indices& by, bool around) const {
    const auto from = [by, around, shape = shape_](std::int64_t e) {
      const std::int64_t there = further(e, shape, by, around);
      return there < 0 ? e : there;
    };
    const bool everywhere = right_ones_are(from);
    std::vector<std::string> names, says;
    for (std::size_t d = 0; d < by.size(); ++d) {
      if (by[d] == 0) continue;
      names.push_back(fmt::format("{}_in_dimension_{}", by[d], d));
      says.push_back(
          fmt::format("{} {} in dimension {}", std::abs(by[d]), by[d] > 0 ? "further on" : "earlier", d));
    }
    return moving_where(
        everywhere,
        {fmt::format("results.displaced_by_{}", fmt::join(names, "_and_")),
         fmt::format("gives{} what belongs {}{}", everywhere ? "" : ", at the elements that diverge,",
                     fmt::join(says, " and "), around ? ", and round the end" : "")},
        from);
  }

  Evidence& evidence_;
  int output_;
  const Shape& shape_;
  const std::vector<double>& values_;
  std::vector<std::int64_t> wrong_;  // some of those that diverge
  double largest_ = 0;
  bool possible_ = false;
};

}  // namespace

std::vector<Variant> moved_of(Evidence& evidence) {
  const auto until = std::chrono::steady_clock::now() + kMostForLinear;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    for (std::size_t o = 0; o < evidence.call().outputs.size(); ++o)
      if (evidence.has(static_cast<int>(o)) && evidence.mask(static_cast<int>(o)).count() >= kLeastWrong)
        return Moved(evidence, static_cast<int>(o)).find();
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return {};
}

}  // namespace assay::diagnose

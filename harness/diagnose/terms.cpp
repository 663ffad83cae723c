// Where a result depends linearly on a tensor, the indices [a, b) of one of its dimensions contribute the difference of two sums
// that begin at its first index. What some elements lack is compared with all such differences.
#include "terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "linear.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::int64_t kMostCells = 1024;  // into which a dimension is divided
// There are some million ranges: a few numbers fit some of them by chance, and so do many that are few different ones.
constexpr std::size_t kMostLooked = 12, kLeastLooked = 6;
constexpr double kClear = 8;  // an element says something if it is off by so many times what it is unsure
constexpr std::size_t kMostFound = 3;
constexpr std::size_t kMostApart = 32;  // indices that count alone

enum class Lost : std::uint8_t { left_out, twice, earlier };

// The indices of a dimension that a fault is about.
struct Range {
  std::int64_t begin, end;
};

// Elements of a tensor as (outer, index of the dimension, inner).
struct Sliced {
  std::int64_t size, inner, outer;

  Sliced(const Shape& shape, std::size_t dimension) : size(shape[dimension]), inner(1), outer(1) {
    for (std::size_t d = 0; d < shape.size(); ++d)
      (d < dimension ? outer : inner) *= d == dimension ? 1 : shape[d];
  }
  template <class Do>
  void each(Range r, const Do& work) const {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = (o * size + r.begin) * inner; i < (o * size + r.end) * inner; ++i) work(i);
  }
};

// Of each `step` indices the one with the remainder `first` counts alone, as often as all of them did or once.
struct Stepped {
  std::int64_t step, first;
  double factor;
};

Variant stepped(std::string_view name, std::size_t argument, std::size_t dimension, Stepped s) {
  const std::string every = s.step == 2 ? "second" : s.step == 3 ? "third" : fmt::format("{}th", s.step);
  Variant v;
  v.name = fmt::format("{}.every_{}_of_dimension_{}_alone", name, every, dimension);
  v.says = fmt::format("counts every {} index of dimension {} of {} alone, beginning with {}{}", every,
                       dimension, name, s.first, s.factor == 1 ? "" : ", as if these were all");
  v.argument = static_cast<int>(argument);
  v.arguments = [argument, dimension, s](Call& call) {
    auto* t = std::get_if<TensorData>(&call.arguments[argument]);
    if (t == nullptr || dimension >= t->shape.size()) return false;
    const Sliced slices(t->shape, dimension);
    for (std::int64_t k = 0; k < slices.size; ++k)
      slices.each({k, k + 1},
                  [&](std::int64_t i) { t->set(i, k % s.step == s.first ? t->get(i) * s.factor : 0); });
    return true;
  };
  return v;
}

Variant fault(std::string_view name, std::size_t argument, std::size_t dimension, Range r, Lost lost) {
  const auto of = fmt::format("{} of dimension {} of {}",
                              r.end - r.begin == 1 ? fmt::format("index {}", r.begin)
                                                   : fmt::format("indices {} to {}", r.begin, r.end - 1),
                              dimension, name);
  const std::int64_t n = r.end - r.begin;
  Variant v;
  v.argument = static_cast<int>(argument);
  switch (lost) {
    case Lost::left_out:
      v.name = fmt::format("{}.{}_to_{}_of_dimension_{}_left_out", name, r.begin, r.end - 1, dimension);
      v.says = fmt::format("leaves {} out, as if zeros stood there", of);
      break;
    case Lost::twice:
      v.name = fmt::format("{}.{}_to_{}_of_dimension_{}_twice", name, r.begin, r.end - 1, dimension);
      v.says = fmt::format("counts {} twice", of);
      break;
    case Lost::earlier:
      v.name =
          fmt::format("{}.{}_to_{}_of_dimension_{}_of_the_tile_before", name, r.begin, r.end - 1, dimension);
      v.says = n == 1 ? fmt::format("counts the index before once more in place of {}", of)
                      : fmt::format("counts the {} indices before once more in place of {}", n, of);
      break;
  }
  v.arguments = [argument, dimension, r, n, lost](Call& call) {
    auto* t = std::get_if<TensorData>(&call.arguments[argument]);
    if (t == nullptr || dimension >= t->shape.size() || r.end > t->shape[dimension]) return false;
    const Sliced slices(t->shape, dimension);
    bool other = false;
    const auto times = [&](Range range, double factor) {
      slices.each(range, [&](std::int64_t i) {
        const double x = t->get(i);
        other = other || x != 0;
        t->set(i, factor == 0 ? 0 : x * factor);  // NaN is left out as well
      });
    };
    times(r, lost == Lost::twice ? 2 : 0);
    if (lost == Lost::earlier) times({r.begin - n, r.begin}, 2);
    return other;
  };
  return v;
}

class Terms {
 public:
  Terms(Evidence& evidence, int output) : evidence_(evidence), output_(output) { look(); }

  bool is_possible() const {
    std::set<double> different;
    for (const Surplus& s : looked_) different.insert(s.more);
    return different.size() >= kLeastLooked;
  }

  std::vector<Variant> of(std::size_t argument) {
    const auto& t = std::get<TensorData>(evidence_.call().arguments[argument]);
    for (std::size_t d = t.shape.size(); d-- > 0;)
      if (t.shape[d] > 1)
        if (std::vector<Variant> found = along(argument, t, d); !found.empty()) return found;
    return {};
  }

 private:
  // Elements that diverge clearly, spread over the others.
  void look() {
    std::vector<std::int64_t> wrong;
    for (const Element& e : evidence_.tried())
      if (e.output == output_ && e.diverges) wrong.push_back(e.at);
    const std::size_t step = std::max<std::size_t>(1, wrong.size() / kMostLooked);
    for (std::size_t i = 0; i < wrong.size() && looked_.size() < kMostLooked; i += step)
      if (const auto s = surplus(evidence_, output_, wrong[i]); s && std::fabs(s->more) > kClear * s->within)
        looked_.push_back(*s);
  }

  std::vector<Variant> along(std::size_t argument, const TensorData& t, std::size_t dimension) {
    const Sliced slices(t.shape, dimension);
    const std::int64_t cell = (slices.size + kMostCells - 1) / kMostCells;
    const std::vector<std::vector<double>> before = sums(argument, t, slices, cell);
    if (before.empty()) return {};
    std::vector<Variant> found;
    const auto cells = static_cast<std::int64_t>(before.size()) - 1;
    if (cell == 1)
      if (const auto s = alone(before))
        return {
            stepped(evidence_.call().op->schema.argument_storage[argument].name, argument, dimension, *s)};
    const auto part = [&](std::int64_t a, std::int64_t b, std::size_t e) {
      return before[static_cast<std::size_t>(b)][e] - before[static_cast<std::size_t>(a)][e];
    };
    const auto says = [&](Lost lost, std::int64_t a, std::int64_t b, std::size_t e) {
      const double p = part(a, b, e);
      return lost == Lost::twice ? p : lost == Lost::left_out ? -p : part(2 * a - b, a, e) - p;
    };
    // The fewest first: what diverges nowhere need not be in it.
    for (std::int64_t length = 1; length <= cells; ++length) {
      stop_point();
      for (std::int64_t a = 0; a + length <= cells; ++a)
        for (const Lost lost : {Lost::left_out, Lost::twice, Lost::earlier}) {
          const std::int64_t b = a + length;
          if (lost == Lost::earlier && a < length) continue;
          bool fits = true;
          for (std::size_t e = 0; fits && e < looked_.size(); ++e)
            fits = std::fabs(says(lost, a, b, e) - looked_[e].more) <= 2 * looked_[e].within;
          if (!fits) continue;
          found.push_back(fault(evidence_.call().op->schema.argument_storage[argument].name, argument,
                                dimension, {a * cell, std::min(b * cell, slices.size)}, lost));
          if (found.size() == kMostFound) return found;
        }
    }
    return found;
  }

  // Indices that stand equally far apart, and are all that counts.
  std::optional<Stepped> alone(const std::vector<std::vector<double>>& before) const {
    const std::size_t cells = before.size() - 1;
    for (std::size_t step = 2; step <= kMostApart && 2 * step <= cells; ++step)
      for (std::size_t first = 0; first < step; ++first) {
        const double count = static_cast<double>((cells - first + step - 1) / step);
        for (const double factor : {1.0, static_cast<double>(cells) / count}) {
          const bool fits = std::ranges::all_of(looked_, [&, e = std::size_t{0}](const Surplus& s) mutable {
            double sum = 0;
            for (std::size_t k = first; k < cells; k += step) sum += before[k + 1][e] - before[k][e];
            const double all = before[cells][e++];
            return std::fabs(sum * factor - all - s.more) <= 2 * s.within;
          });
          if (fits) return Stepped{static_cast<std::int64_t>(step), static_cast<std::int64_t>(first), factor};
        }
      }
    return std::nullopt;
  }

  // What the first cells contribute to each element that is looked at: of none, of one, of two. Nothing if the tensor does not matter.
  std::vector<std::vector<double>> sums(std::size_t argument, const TensorData& t, const Sliced& slices,
                                        std::int64_t cell) {
    Contributions c(evidence_.call(), argument, output_);
    std::vector<std::vector<double>> before{std::vector<double>(looked_.size())};
    bool matters = false;
    for (std::int64_t begin = 0; begin < slices.size; begin += cell) {
      stop_now();
      const Range r{begin, std::min(begin + cell, slices.size)};
      slices.each(r, [&](std::int64_t i) { c.direction()[static_cast<std::size_t>(i)] = t.get(i); });
      std::vector<double> next = before.back();
      for (std::size_t e = 0; e < looked_.size(); ++e) {
        const double x = c.along(looked_[e].at);
        if (!std::isfinite(x)) return {};
        matters = matters || x != 0;
        next[e] += x;
      }
      before.push_back(std::move(next));
      slices.each(r, [&](std::int64_t i) { c.direction()[static_cast<std::size_t>(i)] = 0; });
    }
    return matters ? before : std::vector<std::vector<double>>{};
  }

  Evidence& evidence_;
  int output_;
  std::vector<Surplus> looked_;
};

}  // namespace

std::vector<Variant> terms_of(Evidence& evidence) {
  const std::optional<int> output = first_wrong_output(evidence);
  if (!output) return {};
  Terms terms(evidence, *output);
  if (!terms.is_possible()) return {};
  const Call& call = evidence.call();
  const auto until = std::chrono::steady_clock::now() + kMostForLinear;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    for (const std::size_t i : tensors_of_numbers(call))
      if (std::vector<Variant> found = terms.of(i); !found.empty()) return found;
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return {};
}

}  // namespace assay::diagnose

#include "relation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

namespace assay::diagnose {
namespace {

constexpr double kRounding = 0x1p-20;  // what a parameter of 32 bits, and a computation with it, may lose

class Relation {
 public:
  Relation(const Agreement& used, std::span<const double> given) : used_(used), given_(given) {
    for (const double x : used.values)
      if (!std::isnan(x)) largest_ = std::max(largest_, std::fabs(x));
  }

  std::size_t size() const { return used_.values.size(); }
  bool known(std::size_t c) const { return !std::isnan(used_.values[c]); }
  // Whether the number used at c may be x.
  bool is(std::size_t c, double x) const {
    if (!known(c)) return true;
    return std::fabs(used_.values[c] - x) <=
           2 * used_.within[c] + kRounding * std::max(std::fabs(x), largest_ / 8);
  }
  template <class F>
  bool all(const F& expected) const {
    for (std::size_t c = 0; c < size(); ++c)
      if (!is(c, expected(c))) return false;
    return true;
  }

  // Where each number used stands among those given, if it stands at one place.
  std::optional<std::vector<std::size_t>> places() const {
    std::vector<std::size_t> map;
    for (std::size_t c = 0; c < size(); ++c) {
      if (!known(c)) return std::nullopt;
      std::optional<std::size_t> place;
      for (std::size_t j = 0; j < given_.size(); ++j) {
        if (!is(c, given_[j])) continue;
        if (place) return std::nullopt;
        place = j;
      }
      if (!place) return std::nullopt;
      map.push_back(*place);
    }
    return map;
  }

  // used = factor * given + offset, through the two indices whose given numbers are farthest apart.
  std::optional<std::pair<double, double>> line() const {
    std::size_t low = size(), high = size();
    for (std::size_t c = 0; c < size(); ++c) {
      if (!known(c)) continue;
      if (low == size() || given_[c] < given_[low]) low = c;
      if (high == size() || given_[c] > given_[high]) high = c;
    }
    if (low == size() || given_[low] == given_[high]) return std::nullopt;
    const double factor = (used_.values[high] - used_.values[low]) / (given_[high] - given_[low]);
    const double offset = used_.values[low] - factor * given_[low];
    if (!all([&](std::size_t c) { return factor * given_[c] + offset; })) return std::nullopt;
    return std::pair{factor, offset};
  }

  double within() const {
    double most = 0;
    for (std::size_t c = 0; c < size(); ++c)
      if (known(c)) most = std::max(most, used_.within[c]);
    return most;
  }

 private:
  const Agreement& used_;
  std::span<const double> given_;
  double largest_ = 0;  // what is near 0 comes from numbers of this size
};

std::string one_number(const Agreement& used, std::span<const double> given, const std::string& name) {
  const Relation r(used, given);
  const std::string value = few_digits(used.values[0], used.within[0]);
  if (given.size() == 1) {
    const double factor = used.values[0] / given[0];
    if (std::isfinite(factor) && factor != 0)
      return fmt::format("{}, which is {} times the {} that was given", value,
                         few_digits(factor, used.within[0] / std::fabs(given[0])), few_digits(given[0], 0));
    return fmt::format("{} instead of {}", value, few_digits(given[0], 0));
  }
  const double mean = std::accumulate(given.begin(), given.end(), 0.0) / static_cast<double>(given.size());
  if (r.is(0, mean)) return fmt::format("{} for every element: the mean of {}", value, name);
  std::vector<std::size_t> places;
  for (std::size_t j = 0; j < given.size(); ++j)
    if (r.is(0, given[j])) places.push_back(j);
  if (places.size() == 1) return fmt::format("{} for every element: {}[{}]", value, name, places[0]);
  return fmt::format("{} for every element, which is none of those given", value);
}

}  // namespace

bool are_given(const Agreement& used, std::span<const double> given) {
  const Relation r(used, given);
  return given.size() == used.values.size() && r.all([&](std::size_t c) { return given[c]; });
}

std::string few_digits(double x, double within) {
  for (int digits = 1; digits < 17; ++digits) {
    const std::string s = fmt::format("{:.{}g}", x, digits);
    // Not std::stod, which throws for numbers below the least normal one.
    // "40", and not "4e+01".
    if (const double shorter = std::strtod(s.c_str(), nullptr);
        std::fabs(shorter - x) <= within + kRounding * std::fabs(x))
      return fmt::format("{}", shorter);
  }
  return fmt::format("{:.17g}", x);
}

std::string relation(const Agreement& used, std::span<const double> given, const std::string& name) {
  if (!used.dimension) return one_number(used, given, name);
  const Relation r(used, given);
  const std::size_t n = given.size();
  if (are_given(used, given)) return "those given";
  if (n > 1 && r.all([&](std::size_t c) { return given[c % n]; }))
    return fmt::format("those given, from the first again after the last");
  for (std::size_t by = 1; by < n && r.size() == n; ++by)
    if (r.all([&](std::size_t c) { return given[(c + by) % n]; }))
      return fmt::format("those given, shifted: index {} has that of {}", 0, by);
  if (r.size() == n && r.all([&](std::size_t c) { return given[n - 1 - c]; }))
    return "those given, in the opposite order";
  if (const auto map = r.places()) {
    std::string s = "those given, in another order:";
    for (std::size_t c = 0; c < std::min<std::size_t>(map->size(), 8); ++c)
      s += fmt::format("{} {} has that of {}", c == 0 ? "" : ",", c, (*map)[c]);
    return s + (map->size() > 8 ? fmt::format(" and {} more", map->size() - 8) : "");
  }
  if (r.size() == n) {
    if (const auto line = r.line()) {
      const double within = r.within();
      const double factor = line->first, offset = line->second;
      const bool no_offset = r.all([&](std::size_t c) { return factor * given[c]; });
      if (no_offset) return fmt::format("{} times those given", few_digits(factor, within));
      if (r.all([&](std::size_t c) { return given[c] + offset; }))
        return fmt::format("those given {} {}", offset < 0 ? "minus" : "plus",
                           few_digits(std::fabs(offset), within));
      return fmt::format("{} times those given {} {}", few_digits(factor, within),
                         offset < 0 ? "minus" : "plus", few_digits(std::fabs(offset), within));
    }
  }
  std::string s;
  for (std::size_t c = 0; c < std::min<std::size_t>(used.values.size(), 6); ++c)
    s += fmt::format("{}{}", c == 0 ? "" : ", ",
                     r.known(c) ? few_digits(used.values[c], used.within[c]) : "?");
  return s + (used.values.size() > 6 ? fmt::format(" and {} more", used.values.size() - 6) : "") +
         ", which are not those given";
}

}  // namespace assay::diagnose

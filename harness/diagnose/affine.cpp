#include "affine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "known_number.h"
#include "relation.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kLeastOfALine = 12;  // elements that diverge

class Affine {
 public:
  Affine(const Observations& observed, const Shape& shape)
      : elements_(observed.elements), diverging_(observed.diverging), shape_(shape) {}

  void everywhere_or_along(std::vector<Inverted>& found) {
    std::vector<std::optional<int>> dimensions{std::nullopt};
    for (int d = 0; d < static_cast<int>(shape_.size()); ++d)
      if (shape_[static_cast<std::size_t>(d)] > 1) dimensions.emplace_back(d);
    for (const std::optional<int>& d : dimensions)
      if (affine_along(d, found)) return;
  }

 private:
  bool affine_along(std::optional<int> dimension, std::vector<Inverted>& found) const {
    const std::size_t groups =
        dimension ? static_cast<std::size_t>(shape_[static_cast<std::size_t>(*dimension)]) : 1;
    std::int64_t inner = 1;
    if (dimension)
      for (std::size_t d = static_cast<std::size_t>(*dimension) + 1; d < shape_.size(); ++d)
        inner *= shape_[d];
    std::vector<std::vector<const Observed*>> by_index(groups);
    for (const Observed& o : elements_)
      by_index[dimension
                   ? static_cast<std::size_t>(o.at / inner % shape_[static_cast<std::size_t>(*dimension)])
                   : 0]
          .push_back(&o);
    if (elements_.size() < 6 * groups) return false;
    std::size_t agreeing = 0, diverging_agreeing = 0;
    std::vector<double> factors, offsets, within;
    for (const auto& group : by_index) {
      const Observed *low = nullptr, *high = nullptr;
      for (const Observed* o : group) {
        if (!std::isfinite(o->right) || !std::isfinite(o->came)) continue;
        if (low == nullptr || o->right < low->right) low = o;
        if (high == nullptr || o->right > high->right) high = o;
      }
      if (low == nullptr || low->right == high->right) return false;
      const double apart = high->right - low->right;
      const double factor = (high->came - low->came) / apart, offset = low->came - factor * low->right;
      const double unsure = (high->within + low->within) * (1 + std::fabs(factor)) / apart;
      for (const Observed* o : group) {
        const double slack =
            2 * o->within * (1 + std::fabs(factor)) + unsure * std::fabs(o->right - low->right);
        const bool numbers = std::isfinite(o->right) && std::isfinite(o->came);
        const bool agrees = numbers ? std::fabs(factor * o->right + offset - o->came) <= slack : !o->diverges;
        agreeing += agrees ? 1 : 0;
        diverging_agreeing += agrees && o->diverges ? 1 : 0;
      }
      factors.push_back(factor);
      offsets.push_back(offset);
      within.push_back(unsure);
    }
    const double share = static_cast<double>(agreeing) / static_cast<double>(elements_.size());
    // Where few elements diverge, what says nothing of them is in agreement with all others.
    if (share < kLeastAgreeing ||
        static_cast<double>(diverging_agreeing) < kLeastOfDiverging * static_cast<double>(diverging_))
      return false;
    const double scale = std::abs(std::ranges::max(elements_, {}, [](const Observed& o) {
                                    return std::isfinite(o.right) ? std::fabs(o.right) : 0;
                                  }).right);
    const auto is_scaled = [&](std::size_t g) { return std::fabs(factors[g] - 1) > 2 * within[g] + 1e-6; };
    const auto is_moved = [&](std::size_t g) {
      return std::fabs(offsets[g]) > 2 * within[g] * scale + 1e-6 * scale;
    };
    const auto text = [&](std::size_t g) {
      if (!is_moved(g))
        return fmt::format("{} times what is right{}", few_digits(factors[g], within[g]),
                           dimension ? std::string() : known_number(factors[g], within[g]));
      const std::string by = fmt::format("{} {}", offsets[g] < 0 ? "minus" : "plus",
                                         few_digits(std::fabs(offsets[g]), within[g] * scale));
      if (!is_scaled(g)) return fmt::format("what is right {}", by);
      return fmt::format("{} times what is right {}", few_digits(factors[g], within[g]), by);
    };
    constexpr std::size_t kMostShown = 4;
    std::string says;
    std::size_t others = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      if (!is_scaled(g) && !is_moved(g)) continue;
      if (others++ < kMostShown)
        says += dimension ? fmt::format("{}at index {}: {}", says.empty() ? "" : ", ", g, text(g)) : text(g);
    }
    if (others == 0) return false;
    if (dimension) {
      if (others > kMostShown) says += fmt::format(", and at {} more indices others", others - kMostShown);
      says = fmt::format("along dimension {}, {}{}", *dimension, says,
                         others < groups ? "; at the other indices what is right" : "");
    }
    found.push_back({"the result", std::move(says), factors, dimension, share});
    return true;
  }

  const std::vector<Observed>& elements_;
  std::size_t diverging_;
  const Shape& shape_;
};

}  // namespace

void affine(const Observations& observed, const Shape& shape, std::vector<Inverted>& found) {
  Affine(observed, shape).everywhere_or_along(found);
}

void line_of(const Call& call, std::size_t i, const Observations& observed, const Shape& shape,
             std::vector<Inverted>& found) {
  const auto* t = std::get_if<TensorData>(&call.arguments[i]);
  if (t == nullptr || !is_float(t->dtype) || t->shape != shape) return;
  const Observed *low = nullptr, *high = nullptr;
  for (const Observed& o : observed.elements) {
    if (!o.diverges) continue;
    if (!std::isfinite(o.came) || !std::isfinite(t->get(o.at))) return;
    if (low == nullptr || t->get(o.at) < t->get(low->at)) low = &o;
    if (high == nullptr || t->get(o.at) > t->get(high->at)) high = &o;
  }
  if (observed.diverging < kLeastOfALine || t->get(low->at) == t->get(high->at)) return;
  const double x0 = t->get(low->at), apart = t->get(high->at) - x0;
  const double factor = (high->came - low->came) / apart, offset = low->came - factor * x0;
  const double unsure = (high->within + low->within) / apart;
  for (const Observed& o : observed.elements)
    if (o.diverges &&
        std::fabs(factor * t->get(o.at) + offset - o.came) > 2 * o.within + unsure * (t->get(o.at) - x0))
      return;
  const double scale = std::max(std::fabs(low->came), std::fabs(high->came));
  const std::string_view name = call.op->schema.argument_storage[i].name;
  const bool sloped = std::fabs(factor) * apart > 1e-6 * scale, moved = std::fabs(offset) > 1e-6 * scale;
  const std::string times = few_digits(factor, unsure);
  std::string says = sloped ? fmt::format("{} times {}", times, name) : std::string();
  if (sloped && times == "1") {
    double apart_from_it = 0;
    for (const Observed& o : observed.elements)
      if (o.diverges && t->get(o.at) != 0)
        apart_from_it = std::max(apart_from_it, std::fabs(o.came / t->get(o.at) - 1));
    says = apart_from_it == 0 || moved ? std::string(name)
                                       : fmt::format("{} to within {:.1g} of it", name, apart_from_it);
  }
  if (moved && sloped)
    says += fmt::format(" {} {}", offset < 0 ? "minus" : "plus",
                        few_digits(std::fabs(offset), unsure * std::fabs(x0) + low->within));
  else if (moved)
    says = few_digits(offset, low->within);
  if (says.empty()) return;  // zeros
  found.push_back({"the result", says + ", where it diverges", {factor, offset}, std::nullopt, 1});
}

}  // namespace assay::diagnose

#include "quantised_fault.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace assay {
namespace {

constexpr double kOfHalfAStep = 1e-3;  // of half a step
constexpr std::size_t kMostTransposed = 5;
constexpr double kFarFromOne = 1e-3;  // factors

class Faults {
 public:
  Faults(const Steps& steps, const TensorData& before, const TensorData& after) : steps_(steps), shape_(before.shape) {
    for (std::int64_t i = 0; i < before.numel(); ++i) {
      before_.push_back(before.get(i));
      after_.push_back(after.get(i));
    }
    find_dimension();
    if (steps.integers == Dtype::u8) range_ = {0, 255};
    if (steps.integers == Dtype::i8) range_ = {-128, 127};
  }

  std::optional<std::string> found(const Shape& whole) {
    if (!dimension_ && steps_.scale.numel() != 1) return std::nullopt;
    if (auto says = moved(shape_)) return says;
    if (whole != shape_ && numel(whole) == numel(shape_))
      if (auto says = moved(whole)) return says;
    for (const auto fault : {&Faults::wrapped, &Faults::shifted, &Faults::scaled, &Faults::in_one_place})
      if (auto says = (this->*fault)()) return says;
    return std::nullopt;
  }

 private:
  using Text = std::optional<std::string>;
  using Wanted = std::function<double(std::size_t)>;

  void find_dimension() {
    for (std::size_t d = 0; d < shape_.size() && steps_.scale.numel() > 1 && !dimension_; ++d)
      if (shape_[d] == steps_.scale.numel()) dimension_ = d;
  }
  std::int64_t index(std::size_t i, std::size_t d) const {
    std::int64_t inner = 1;
    for (std::size_t k = d + 1; k < shape_.size(); ++k) inner *= shape_[k];
    return static_cast<std::int64_t>(i) / inner % shape_[d];
  }
  std::int64_t step_of(std::size_t i) const { return dimension_ ? index(i, *dimension_) : 0; }
  double step(std::size_t i) const { return std::fabs(steps_.scale.get(step_of(i))); }

  // Whether element i is the nearest to this number that there is.
  bool is_nearest(std::size_t i, double wanted) const {
    const double s = step(i);
    if (!(s > 0) || !std::isfinite(wanted)) return false;
    if (range_.first < range_.second) {
      const std::int64_t zeros = steps_.zero_point ? steps_.zero_point->numel() : 0;
      const double zero = zeros == 0 ? 0 : steps_.zero_point->get(zeros == 1 ? 0 : step_of(i));
      wanted = std::clamp(wanted, (range_.first - zero) * s, (range_.second - zero) * s);
    }
    return std::fabs(wanted - after_[i]) <= s * (0.5 + kOfHalfAStep) + std::fabs(wanted) * 1e-6;
  }
  bool all(const Wanted& wanted) const {
    for (std::size_t i = 0; i < after_.size(); ++i)
      if (!is_nearest(i, wanted(i))) return false;
    return !after_.empty();
  }

  // Dimensions in another order: each has the number of the other place.
  Text moved(const Shape& shape) const {
    const std::size_t n = shape.size();
    if (n < 2 || n > kMostTransposed) return std::nullopt;
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    while (std::ranges::next_permutation(order).found) {
      // What stands there in the order of the permuted dimensions, one after the other.
      std::vector<std::int64_t> strides(n, 1);
      for (std::size_t d = n - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
      const auto from = [&](std::size_t i) {
        std::int64_t rest = static_cast<std::int64_t>(i), at = 0;
        for (std::size_t d = n; d-- > 0;) {
          at += rest % shape[order[d]] * strides[order[d]];
          rest /= shape[order[d]];
        }
        return static_cast<std::size_t>(at);
      };
      bool moves = false;
      for (std::size_t i = 0; i < before_.size() && !moves; ++i) moves = before_[from(i)] != before_[i];
      if (moves && all([&](std::size_t i) { return before_[from(i)]; }))
        return fmt::format("is what it was with its dimensions transposed, in the order ({}) of [{}], in memory", fmt::join(order, ", "), text(shape));
    }
    return std::nullopt;
  }

  // Bits of a signed byte read as one without a sign, or the other way round.
  Text wrapped() {
    for (const bool lost : {true, false}) {
      const double steps = lost ? 256 : -256;
      const auto wanted = [&](std::size_t i) {
        const double q = std::round(before_[i] / step(i));
        return before_[i] + (lost ? (q < 0 ? steps : 0) : (q > 127 ? steps : 0)) * step(i);
      };
      const auto range = std::exchange(range_, {0, -1});
      const bool fits = all(wanted);
      range_ = range;
      if (fits)
        return lost ? "is what it was, with 256 steps more where it was negative: signed bytes read as unsigned ones"
                    : "is what it was, with 256 steps less where it was 128 steps or more: unsigned bytes read as signed ones";
    }
    return std::nullopt;
  }

  Text shifted() {
    std::vector<double> by;
    for (std::size_t i = 0; i < after_.size(); ++i)
      if (step(i) > 0) by.push_back((after_[i] - before_[i]) / step(i));
    if (by.empty()) return std::nullopt;
    const auto middle = by.begin() + std::ssize(by) / 2;
    std::ranges::nth_element(by, middle);
    const double steps = std::round(*middle);
    if (steps == 0 || !all([&](std::size_t i) { return before_[i] + steps * step(i); })) return std::nullopt;
    return fmt::format("is what it was {} {} steps, in every element: another zero point", steps > 0 ? "plus" : "minus", std::fabs(steps));
  }

  // The factors that are possible for all elements of a channel, or nothing.
  struct Factors {
    double least = -1e300, greatest = 1e300;
    bool any() const { return least <= greatest; }
    bool holds_one() const { return least <= 1 + kFarFromOne && greatest >= 1 - kFarFromOne; }
  };
  Factors factors(const std::function<bool(std::size_t)>& is_in) const {
    Factors f;
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (!is_in(i)) continue;
      const double half = step(i) * (0.5 + kOfHalfAStep) + std::fabs(after_[i]) * 1e-6, x = before_[i];
      if (is_at_an_end(i)) continue;
      if (std::fabs(x) < 1e-30) {
        if (std::fabs(after_[i]) > half) return {1, 0};
        continue;
      }
      const double a = (after_[i] - half) / x, b = (after_[i] + half) / x;
      f.least = std::max(f.least, std::min(a, b));
      f.greatest = std::min(f.greatest, std::max(a, b));
    }
    return f;
  }
  // Where it may be cut off.
  bool is_at_an_end(std::size_t i) const {
    if (range_.first >= range_.second || !(step(i) > 0)) return false;
    const std::int64_t zeros = steps_.zero_point ? steps_.zero_point->numel() : 0;
    const double zero = zeros == 0 ? 0 : steps_.zero_point->get(zeros == 1 ? 0 : step_of(i)), q = std::round(after_[i] / step(i) + zero);
    return q <= range_.first || q >= range_.second;
  }

  Text scaled() {
    const Factors whole = factors([](std::size_t) { return true; });
    if (whole.any() && !whole.holds_one() && all([&](std::size_t i) { return before_[i] * (whole.least + whole.greatest) / 2; }))
      return fmt::format("is what it was times {:.4g}: another scale", (whole.least + whole.greatest) / 2);
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (shape_[d] < 2 || (dimension_ && d != *dimension_)) continue;
      std::vector<double> each;
      bool others = false;
      for (std::int64_t n = 0; n < shape_[d]; ++n) {
        const Factors f = factors([&](std::size_t i) { return index(i, d) == n; });
        if (!f.any() || !(f.greatest < 1e300)) break;
        others = others || !f.holds_one();
        each.push_back(f.holds_one() ? 1 : (f.least + f.greatest) / 2);
      }
      if (std::ssize(each) != shape_[d] || !others) continue;
      if (!all([&](std::size_t i) { return before_[i] * each[static_cast<std::size_t>(index(i, d))]; })) continue;
      std::string some;
      for (std::size_t n = 0; n < each.size() && n < 4; ++n) some += fmt::format("{}{:.4g} at index {}", n == 0 ? "" : ", ", each[n], n);
      return fmt::format("is what it was with another scale for each index along dimension {}: times {}{}", d, some, each.size() > 4 ? ", .." : "");
    }
    return std::nullopt;
  }

  // All but one index of a dimension is right.
  Text in_one_place() {
    std::vector<bool> right(after_.size());
    for (std::size_t i = 0; i < after_.size(); ++i) right[i] = is_nearest(i, before_[i]);
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (shape_[d] < 2) continue;
      std::optional<std::int64_t> place;
      bool alone = true;
      for (std::size_t i = 0; i < after_.size() && alone; ++i) {
        if (right[i]) continue;
        alone = !place || *place == index(i, d);
        place = index(i, d);
      }
      if (alone && place) return fmt::format("is not the nearest to what it was at index {} of dimension {} alone", *place, d);
    }
    return std::nullopt;
  }

  const Steps& steps_;
  Shape shape_;
  std::vector<double> before_, after_;
  std::optional<std::size_t> dimension_;  // along which there are several steps
  std::pair<double, double> range_{0, -1};  // of integers, if known
};

}  // namespace

std::optional<std::string> quantised_fault(const Steps& steps, const TensorData& before, const TensorData& after, const Shape& whole) {
  if (before.numel() != after.numel() || before.shape != after.shape || before.numel() == 0) return std::nullopt;
  return Faults(steps, before, after).found(whole);
}

}  // namespace assay

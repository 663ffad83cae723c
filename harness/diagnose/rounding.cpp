#include "rounding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace assay::diagnose {
namespace {

constexpr int kAtRandom = 10;

// What may stand for numbers from `lower` to `upper`, which are too large for the format or not.
void round_outward(Interval& i, const Format& f) {
  i.positive_infinity = i.positive_infinity || i.upper > f.max;
  i.negative_infinity = i.negative_infinity || i.lower < -f.max;
  i.lower = std::clamp(round_down(i.lower, f), -f.max, f.max);
  i.upper = std::clamp(round_up(i.upper, f), -f.max, f.max);
  if (i.lower < i.upper) i.exact_zero_sign = false;
}

// The argument's numbers with `sign(element)` times what each may be off by.
template <class Sign>
void move(TensorData& t, const std::vector<double>& within, const Sign& sign) {
  for (std::int64_t e = 0; e < t.numel(); ++e)
    t.set(e, t.get(e) + sign(e) * within[static_cast<std::size_t>(e)]);
}

bool may_be_rounded(double x, double by, double y, const Format& f) {
  if (!std::isfinite(x)) return x == y || (std::isnan(x) && std::isnan(y));
  Interval i;
  i.lower = x - by;
  i.upper = x + by;
  round_outward(i, f);
  return i.contains(y);
}

std::vector<std::vector<double>> values_of(const Call& call) {
  const Arguments arguments(call);
  const auto evaluation = find_reference(call.op->schema.name)->evaluate(arguments.values(), call.outputs);
  std::vector<std::vector<double>> all;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const Shape& shape = call.outputs[o].shape;
    all.emplace_back(static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
    evaluation->values(static_cast<int>(o), all.back());
  }
  return all;
}

}  // namespace

bool is_narrower(Dtype stored, Dtype computed) {
  return is_float(stored) && is_float(computed) && bytes(stored) < bytes(computed);
}

Interval Rounding::widened(Interval i, int output, std::int64_t at) const {
  if (!any() || i.undecidable()) return i;
  const auto o = static_cast<std::size_t>(output);
  const double by = o < moved.size() && !moved[o].empty() ? moved[o][static_cast<std::size_t>(at)] : 0;
  if (std::isinf(by)) {
    i.lower = -HUGE_VAL;
    i.upper = HUGE_VAL;
    i.nan = i.positive_infinity = i.negative_infinity = true;
    i.exact_zero_sign = false;
    i.places.clear();
    return i;
  }
  if (i.lower > i.upper) return i;
  if (by > 0) {
    i.lower -= by;
    i.upper += by;
    i.exact_zero_sign = false;
  }
  if (o < stored.size() && stored[o]) round_outward(i, format(*stored[o]));
  return i;
}

std::vector<double> lost_of(const TensorData& t, Dtype stored) {
  const Format& f = format(stored);
  std::vector<double> lost;
  for (std::int64_t e = 0; e < t.numel(); ++e) {
    const double x = std::fabs(t.get(e));
    lost.push_back(std::isfinite(x) ? std::max(f.unit * x, f.min_subnormal / 2) : 0);
  }
  return lost;
}

std::vector<std::vector<double>> moved_within(const Call& call,
                                              const std::vector<std::vector<double>>& within) {
  std::vector<std::size_t> uncertain;
  for (std::size_t i = 0; i < within.size(); ++i)
    if (!within[i].empty()) uncertain.push_back(i);
  if (uncertain.empty()) return {};
  const std::vector<std::vector<double>> plain = values_of(call);
  std::vector<std::vector<double>> most;
  for (const auto& values : plain) most.emplace_back(values.size(), 0.0);
  const auto attempt = [&](const auto& sign_of) {
    Call moved = call;
    for (std::size_t n = 0; n < uncertain.size(); ++n)
      move(std::get<TensorData>(moved.arguments[uncertain[n]]), within[uncertain[n]],
           [&](std::int64_t e) { return sign_of(n, e); });
    const auto values = values_of(moved);
    for (std::size_t o = 0; o < values.size(); ++o) {
      const bool positions = (call.op->positions >> o & 1) != 0;
      for (std::size_t e = 0; e < values[o].size(); ++e) {
        const double x = plain[o][e], y = values[o][e];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        // Another place is no place nearby.
        const double by =
            positions || !std::isfinite(x) || !std::isfinite(y) ? HUGE_VAL : kSlackOfMoved * std::fabs(x - y);
        most[o][e] = std::max(most[o][e], by);
      }
    }
  };
  // All of an argument one way, in each combination of arguments: no more is needed element by element.
  for (unsigned signs = 0; signs < 1u << (uncertain.size() - 1); ++signs)
    attempt([&](std::size_t n, std::int64_t) { return (signs >> n & 1) != 0 ? -1.0 : 1.0; });
  attempt([](std::size_t, std::int64_t e) { return e % 2 == 0 ? 1.0 : -1.0; });
  std::mt19937 random(1);
  for (int k = 0; k < kAtRandom; ++k)
    attempt([&](std::size_t, std::int64_t) { return (random() & 1) != 0 ? -1.0 : 1.0; });
  return most;
}

bool may_be_rounded(const TensorData& before, const std::vector<double>& within, const TensorData& after) {
  const Format& f = format(after.dtype);
  for (std::int64_t e = 0; e < before.numel(); ++e)
    if (!may_be_rounded(before.get(e), within.empty() ? 0 : within[static_cast<std::size_t>(e)], after.get(e),
                        f))
      return false;
  return true;
}

TensorData but_for_rounding(const TensorData& before, const TensorData& after) {
  TensorData rounded = packed_copy(before);
  if (!is_narrower(after.dtype, before.dtype)) return rounded;
  const Format& f = format(after.dtype);
  bool all = true;
  for (std::int64_t e = 0; e < rounded.numel(); ++e) {
    if (may_be_rounded(rounded.get(e), 0, after.get(e), f))
      rounded.set(e, after.get(e));
    else
      all = false;
  }
  return all ? packed_copy(before) : rounded;
}

}  // namespace assay::diagnose

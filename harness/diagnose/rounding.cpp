#include "rounding.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <random>

#include "../model/parallel.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr unsigned kAtRandom = 10, kAtRandomOfMany = 2;
constexpr std::size_t kMostCombined =
    6;  // arguments of which each combination is tried; more are moved at random as well
constexpr std::int64_t kMany = std::int64_t{1} << 16;  // elements
constexpr unsigned kMostThreads = 8;

// Which way each element is moved.
struct Signs {
  enum class Kind : std::uint8_t { one_way, in_turns, at_random } kind;
  unsigned mask;  // of the arguments that go down
  unsigned seed;

  double of(std::size_t argument, std::int64_t element, std::mt19937& random) const {
    const bool down = kind == Kind::one_way    ? (mask >> argument & 1) != 0
                      : kind == Kind::in_turns ? element % 2 != 0
                                               : (random() & 1) != 0;
    return down ? -1.0 : 1.0;
  }
};

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
    all.emplace_back(static_cast<std::size_t>(numel(call.outputs[o].shape)));
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
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < within.size(); ++i)
    if (!within[i].empty()) {
      uncertain.push_back(i);
      elements += static_cast<std::int64_t>(within[i].size());
    }
  if (uncertain.empty()) return {};
  const std::vector<std::vector<double>> plain = values_of(call);
  std::vector<std::vector<double>> most;
  for (const auto& values : plain) most.emplace_back(values.size(), 0.0);
  std::mutex merging;
  const auto attempt = [&](const Signs& signs) {
    Call moved = call;
    std::mt19937 random(signs.seed);
    for (std::size_t n = 0; n < uncertain.size(); ++n)
      move(std::get<TensorData>(moved.arguments[uncertain[n]]), within[uncertain[n]],
           [&](std::int64_t e) { return signs.of(n, e, random); });
    const auto values = values_of(moved);
    const std::scoped_lock lock(merging);
    for (std::size_t o = 0; o < values.size(); ++o) {
      const bool positions = (call.op->positions >> o & 1) != 0;
      const Format& f = format(call.outputs[o].dtype);
      for (std::size_t e = 0; e < values[o].size(); ++e) {
        const double x = plain[o][e], y = values[o][e];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        // Another place is no place nearby. Whatever moves may be rounded to the next number.
        const double by =
            positions || !std::isfinite(x) || !std::isfinite(y)
                ? HUGE_VAL
                : kSlackOfMoved * (std::fabs(x - y) + std::max(2 * f.unit * std::fabs(x), f.min_subnormal));
        most[o][e] = std::max(most[o][e], by);
      }
    }
  };
  // All of an argument one way, in each combination of arguments: no more is needed element by element.
  std::vector<Signs> attempts;
  for (unsigned mask = 0; mask < 1u << (std::min(uncertain.size(), kMostCombined) - 1); ++mask)
    attempts.push_back({Signs::Kind::one_way, mask, 0});
  if (elements <= kMany) attempts.push_back({Signs::Kind::in_turns, 0, 0});
  for (unsigned k = 0; k < (elements > kMany ? kAtRandomOfMany : kAtRandom); ++k)
    attempts.push_back({Signs::Kind::at_random, 0, k + 1});
  for_each_parallel(elements > kMany ? std::min(kMostThreads, threads_for(0)) : 1, attempts.size(),
                    [&](std::size_t k) { attempt(attempts[k]); });
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

#include "edge.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "normal.h"

namespace assay {
namespace {

std::vector<double> numbers(std::string_view list) {
  std::vector<double> parsed;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    while (item.starts_with(' ')) item.remove_prefix(1);
    double value = 0;
    if (std::from_chars(item.data(), item.data() + item.size(), value).ec == std::errc{})
      parsed.push_back(value);
  }
  return parsed;
}

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// x and the two numbers on either side of it.
void with_neighbours(std::vector<double>& list, double x, const Format& f) {
  x = round_to(x, f);
  const double above = next_above(x, f);
  const double below = next_below(x, f);
  append(list, {x, above, below, next_above(above, f), next_below(below, f)});
}

// What a tensor holds besides normal numbers, and how often.
struct Mixture {
  std::vector<std::vector<double>> pools;  // each as often as the others
  int one_in = 2;                          // one element of so many is from the pool
  bool single = false;                     // or exactly one, anywhere
};

constexpr std::int64_t kApart = -1;  // what no other number of the same tensor makes up for

Mixture mixture(const EdgeValues& e, std::int64_t kind) {
  Mixture m;
  const auto take = [&](std::initializer_list<const std::vector<double>*> lists) {
    for (const auto* list : lists)
      if (!list->empty()) m.pools.push_back(*list);
  };
  switch (kind) {
    case 0:
    case 1:
      take({&e.zeros, &e.nans, &e.infinities, &e.subnormals, &e.largest, &e.smallest, &e.kinks, &e.ones});
      break;
    case 2:
      take({&e.zeros, &e.subnormals, &e.smallest});
      break;
    case 3:
      take({&e.kinks, &e.ones, &e.zeros});
      break;
    case 4:
      take({&e.largest, &e.smallest});
      m.one_in = 8;
      break;
    case 5:
      take({&e.nans});
      m.single = true;
      break;
    case 6:
      take({&e.infinities});
      m.one_in = 16;
      break;
    case kApart:
      take({&e.nans, &e.nans, &e.infinities, &e.infinities, &e.subnormals, &e.zeros, &e.largest});
      break;
    default:
      take({&e.infinities, &e.largest});
      m.single = true;
      break;
  }
  return m;
}

constexpr std::int64_t kMixtures = 9;

// A row of nothing but -inf, and the largest number last in another: what a maximum or a sum over a row may trip over.
void fill_rows(const Target& t, std::span<double> values) {
  const auto length = static_cast<std::size_t>(t.shape.empty() ? 1 : t.shape.back());
  const std::size_t rows = values.size() / length;
  const auto infinite = static_cast<std::size_t>(t.own.below(1, static_cast<std::int64_t>(rows)));
  for (std::size_t r = 0; r < rows; ++r) {
    if (r == infinite && format(t.dtype).has_infinity)
      for (std::size_t j = 0; j < length; ++j)
        values[r * length + j] = -std::numeric_limits<double>::infinity();
    else
      values[(r + 1) * length - 1] = 64;
  }
}

}  // namespace

double next_above(double x, const Format& f) {
  if (x == 0) return f.min_subnormal;
  if (x == -f.min_subnormal) return -0.0;
  return round_up(std::nextafter(x, std::numeric_limits<double>::infinity()), f);
}

double next_below(double x, const Format& f) { return -next_above(-x, f); }

EdgeValues edge_values(Dtype dtype, std::string_view kinks) {
  EdgeValues e;
  if (!is_float(dtype)) {
    const IntegerRange range = integer_range(dtype);
    e.zeros = {0};
    e.ones = {1};
    if (range.least < 0) e.ones.push_back(-1);
    e.largest = {range.least, range.greatest, range.least + 1, range.greatest - 1};
    e.kinks = numbers(kinks);
    return e;
  }
  const Format& f = format(dtype);
  const double inf = std::numeric_limits<double>::infinity();
  e.zeros = {0.0, -0.0};
  // With its sign, too, which x86 sets in the NaN of inf - inf: a comparison of bits takes it for less than any number.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  e.nans = {nan, -nan};
  if (f.has_infinity) e.infinities = {inf, -inf};
  const double greatest_subnormal = f.min_normal - f.min_subnormal;
  e.subnormals = {f.min_subnormal,     -f.min_subnormal,    greatest_subnormal,
                  -greatest_subnormal, 3 * f.min_subnormal, -f.min_normal / 2};
  e.largest = {f.max, -f.max, next_below(f.max, f), -f.max / 2};
  e.smallest = {f.min_normal, -f.min_normal, next_above(f.min_normal, f), -2 * f.min_normal};
  for (const double kink : numbers(kinks)) with_neighbours(e.kinks, kink, f);
  with_neighbours(e.ones, 1, f);
  with_neighbours(e.ones, -1, f);
  return e;
}

void fill_edge(const Target& t, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal(t.own, i);
  // What is there of one tensor hides what is there of another: often each has its own places, one after the other.
  const auto tensors = static_cast<std::size_t>(std::max(t.tensors, 1));
  const bool apart = t.tensors > 1 && t.shared.below(7, 3) != 0;
  const auto turn = static_cast<std::size_t>(t.shared.below(8, t.tensors) + t.ordinal);
  // Or in one tensor alone: of five, the others hide even what is apart.
  const bool alone = apart && t.shared.below(9, 2) == 0;
  if (alone && turn % tensors != 0) return;
  // Or the same number in all tensors at one place: NaN beside NaN, infinity less infinity, two largest numbers.
  const bool together = !apart && t.tensors > 1 && t.shared.below(10, 3) == 0;
  const Stream from = together ? Stream(t.shared.word(11)) : t.own;
  const std::int64_t kind = apart ? kApart : from.below(0, kMixtures);
  if (kind == kMixtures - 1 && is_float(t.dtype)) return fill_rows(t, values);
  const auto most = static_cast<std::uint64_t>(std::clamp<std::int64_t>(t.terms, 1, 1 << 20));
  const auto powers = static_cast<std::int64_t>(std::bit_width(most));
  EdgeValues edges = edge_values(t.dtype, t.kinks);
  // Whether a sum of several of the largest numbers overflows depends on its order, and so tells little of a kernel: those, or
  // the largest of which no sum overflows.
  if (is_float(t.dtype) && most > 1 && from.below(6, 2) != 0)
    for (double& x : edges.largest) x = std::ldexp(x, -static_cast<int>(powers) - 1);
  Mixture m = mixture(edges, kind);
  if (m.pools.empty()) return;
  // Where there are many in one sum, it is NaN or infinite whatever else the kernel does: so many of them, or few.
  if (from.below(4, 4) != 0) m.one_in = std::max(m.one_in, 1 << from.below(5, powers));
  // But some, in a tensor of one number for each channel, too.
  m.one_in =
      static_cast<int>(std::clamp<std::int64_t>(static_cast<std::int64_t>(values.size()), 2, m.one_in));
  if (alone) m.one_in = t.parameter ? 1 : 2;
  const Stream choice(from.word(2));
  const auto pick = [&choice](std::uint64_t i, const auto& list) -> const auto& {
    return list[static_cast<std::size_t>(choice.below(i, static_cast<std::int64_t>(list.size())))];
  };
  const auto only = static_cast<std::size_t>(from.below(3, static_cast<std::int64_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (apart && !alone && (i + turn) % tensors != 0) continue;
    if (m.single ? i == only : choice.below(3 * i, m.one_in) == 0)
      values[i] = pick(3 * i + 1, pick(3 * i + 2, m.pools));
  }
}

}  // namespace assay

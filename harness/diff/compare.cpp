#include "compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "vocabulary/stop.h"

namespace assay::diff {
namespace {

Dtype coarser(Dtype a, Dtype b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (!is_float(a)) return bytes(a) <= bytes(b) ? a : b;
  return format(a).precision <= format(b).precision ? a : b;
}

// The number of the place of |x| among the magnitudes of a format: 0, the subnormal ones, and on. A number between two of
// them counts as the lower one, so that distances between formats are of the coarser one.
std::int64_t place(double x, const Format& f) {
  const double size = std::fabs(x);
  if (size < f.min_normal) return static_cast<std::int64_t>(size / f.min_subnormal);
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // [1/2, 1)
  const std::int64_t steps = std::int64_t{1} << (f.precision - 1);
  return static_cast<std::int64_t>((fraction * 2 - 1) * static_cast<double>(steps)) +
         (exponent - f.min_exponent) * steps;
}

struct Distance {
  Class c = Class::equal;
  std::uint64_t ulp = 0;
};

Class of_distance(std::uint64_t ulp) {
  return ulp == 0 ? Class::equal : ulp == 1 ? Class::one_ulp : ulp <= kSmall ? Class::small : Class::large;
}

Distance distance(double a, double b, const Format& f) {
  if (a == b) return {a == 0 && std::signbit(a) != std::signbit(b) ? Class::zero_sign : Class::equal, 0};
  if (std::isnan(a) && std::isnan(b)) return {};
  if (!std::isfinite(a) || !std::isfinite(b)) return {Class::nonfinite, 0};
  // Different numbers of a finer format may share a place.
  const std::uint64_t ulp = std::max<std::uint64_t>(ulp_distance(a, b, f), 1);
  return {of_distance(ulp), ulp};
}

// A fast answer for the pair that is mostly asked for: f32 and f32, whose bits are their places.
std::int64_t ordered(std::uint32_t bits) {
  const auto magnitude = static_cast<std::int64_t>(bits & 0x7FFFFFFFu);
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

// Calls visit(i, a, b, distance) for every element that differs in its bits.
template <class Visit>
void each_difference(const Elements& a, const Elements& b, const Visit& visit) {
  const Dtype unit = coarser(a.dtype, b.dtype);
  const std::uint64_t n = a.count();
  if (!is_float(a.dtype) && !is_float(b.dtype)) {
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::int64_t x = a.integer(i), y = b.integer(i);
      if (x == y) continue;
      const std::uint64_t apart = x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
                                        : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
      visit(i, static_cast<double>(x), static_cast<double>(y), Distance{of_distance(apart), apart});
    }
    return;
  }
  const Format& f = format(unit);
  const auto width = static_cast<std::uint64_t>(bytes(a.dtype));
  const bool one_dtype = a.dtype == b.dtype;
  const auto look_at = [&](std::uint64_t i) {
    const double x = a[i], y = b[i];
    const Distance d = distance(x, y, f);
    if (d.c != Class::equal) visit(i, x, y, d);
  };
  const auto look_at_f32 = [&](std::uint64_t i) {
    std::uint32_t u = 0, v = 0;
    std::memcpy(&u, a.bytes.data() + i * 4, 4);
    std::memcpy(&v, b.bytes.data() + i * 4, 4);
    if (u == v) return;
    const auto x = std::bit_cast<float>(u), y = std::bit_cast<float>(v);
    if (!std::isfinite(x) || !std::isfinite(y) || x == y) return look_at(i);
    const auto ulp = static_cast<std::uint64_t>(std::abs(ordered(u) - ordered(v)));
    visit(i, x, y, Distance{of_distance(ulp), ulp});
  };
  // Most of what is compared is equal, and stretches of it are passed over by their bits.
  constexpr std::uint64_t kStretch = 64;
  for (std::uint64_t begin = 0; begin < n; begin += kStretch) {
    if (begin % (kStretch << 8) == 0) stop_now();
    const std::uint64_t end = std::min(n, begin + kStretch);
    const auto* const of_a = a.bytes.data() + begin * width;
    if (one_dtype && std::memcmp(of_a, b.bytes.data() + begin * width, (end - begin) * width) == 0) continue;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (one_dtype && a.dtype == Dtype::f32)
        look_at_f32(i);
      else if (!one_dtype || std::memcmp(a.bytes.data() + i * width, b.bytes.data() + i * width, width) != 0)
        look_at(i);
    }
  }
}

}  // namespace

std::uint64_t ulp_distance(double a, double b, const Format& f) {
  const auto x = static_cast<std::uint64_t>(place(a, f)), y = static_cast<std::uint64_t>(place(b, f));
  if (std::signbit(a) != std::signbit(b)) return x + y;  // each is below 2^63
  return x > y ? x - y : y - x;
}

std::uint64_t Mask::count() const {
  std::uint64_t n = 0;
  for (const std::uint64_t w : words_) n += static_cast<std::uint64_t>(std::popcount(w));
  return n;
}

Comparison compare(const Elements& a, const Elements& b) {
  Comparison c;
  c.unit = coarser(a.dtype, b.dtype);
  c.elements = a.count();
  const bool are_integers = !is_float(a.dtype) && !is_float(b.dtype);
  std::uint64_t differ = 0;
  each_difference(a, b, [&](std::uint64_t i, double x, double y, Distance d) {
    ++differ;
    ++c.counts[static_cast<std::size_t>(d.c)];
    if (d.c == Class::nonfinite) {
      if (c.worst != Class::nonfinite) c.farthest = {i, x, y};
      c.worst = Class::nonfinite;
      return;
    }
    c.worst = std::max(c.worst, d.c);
    if (d.ulp == 0) return;
    ++c.histogram[static_cast<std::size_t>(std::bit_width(d.ulp - 1))];
    if (d.ulp > c.ulp) {
      c.ulp = d.ulp;
      if (c.worst != Class::nonfinite) c.farthest = {i, x, y};
    }
    // Neighbours among large integers are one number as doubles.
    const double apart = are_integers ? static_cast<double>(d.ulp) : std::fabs(x - y);
    if (apart > c.difference) {
      c.difference = apart;
      c.widest = {i, x, y};
    }
  });
  for (Extreme* e : {&c.farthest, &c.widest}) {
    if (differ == 0) break;
    if (!is_float(a.dtype)) e->integer_a = a.integer(e->element);
    if (!is_float(b.dtype)) e->integer_b = b.integer(e->element);
  }
  c.counts[static_cast<std::size_t>(Class::equal)] = c.elements - differ;
  if (differ > 0)
    for (std::uint64_t i = 0; i < c.elements; ++i)
      if (const double size = std::fabs(a[i]); std::isfinite(size)) c.scale = std::max(c.scale, size);
  return c;
}

Mask elements_from(Class least, const Elements& a, const Elements& b) {
  Mask mask(a.count());
  each_difference(a, b, [&](std::uint64_t i, double, double, Distance d) {
    if (d.c >= least) mask.set(i);
  });
  return mask;
}

}  // namespace assay::diff

#include "quantised.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "suspects.h"

namespace assay::diagnose {
namespace {

constexpr std::int64_t kFewestToScale = 8;  // elements: of fewer, a scale for all says little

// Elements that share a scale lie in the whole tensor, at one index of its first or its last dimension, or in a block of so many
// innermost ones, where rows hold a whole number of blocks.
struct Sharing {
  enum class By : std::uint8_t { all, first, last, block } by;
  std::int64_t size = 0;
  std::string_view name, says;
};
constexpr Sharing kOneScale{Sharing::By::all, 0, "per_tensor", "one scale"},
    kOfFirst{Sharing::By::first, 0, "by_first_dimension", "a scale for each index of its first dimension"},
    kOfLast{Sharing::By::last, 0, "by_last_dimension", "a scale for each index of its last dimension"},
    kBlocks16{Sharing::By::block, 16, "by_blocks_of_16", "a scale for each 16 innermost elements"},
    kBlocks32{Sharing::By::block, 32, "by_blocks_of_32", "a scale for each 32 innermost elements"},
    kBlocks64{Sharing::By::block, 64, "by_blocks_of_64", "a scale for each 64 innermost elements"},
    kBlocks128{Sharing::By::block, 128, "by_blocks_of_128", "a scale for each 128 innermost elements"};
constexpr Sharing kSharings[] = {kOneScale, kOfFirst, kOfLast, kBlocks16, kBlocks32, kBlocks64, kBlocks128};

bool can_share(const Sharing& s, const TensorData& t) {
  if (s.by == Sharing::By::block) return !t.shape.empty() && t.shape.back() % s.size == 0;
  return s.by == Sharing::By::all || t.shape.size() > 1;
}

// How elements in row-major order follow one another: so many of a group, and then as many of the next one, of so many groups.
struct Runs {
  std::int64_t length, groups;

  Runs(const Sharing& s, const TensorData& t) : length(1), groups(t.shape.empty() ? 1 : t.shape.back()) {
    if (s.by == Sharing::By::last) return;
    length = s.by == Sharing::By::all     ? t.numel()
             : s.by == Sharing::By::first ? t.numel() / t.shape.front()
                                          : s.size;
    groups = t.numel() / length;
  }

  // f(group, x) of numbers from element `first` on.
  template <class X, class F>
  void each(std::int64_t first, std::span<X> numbers, const F& f) const {
    std::int64_t group = first / length % groups, in_run = first % length;
    for (X& x : numbers) {
      f(static_cast<std::size_t>(group), x);
      if (++in_run < length) continue;
      in_run = 0;
      if (++group == groups) group = 0;
    }
  }
};

// Of the elements of a group: the one whose magnitude is the largest, the first of several, and both ends.
struct GroupRange {
  double largest = 0, least = std::numeric_limits<double>::infinity(), most = -least;
};

// Nothing where there is NaN or an infinity.
std::vector<GroupRange> ranges_of(const Sharing& s, const TensorData& t) {
  const Runs runs(s, t);
  std::vector<GroupRange> ranges(static_cast<std::size_t>(runs.groups));
  bool finite = true;
  t.each_block([&](std::int64_t first, std::span<const double> numbers) {
    runs.each(first, numbers, [&](std::size_t group, double x) {
      finite = finite && std::isfinite(x);
      GroupRange& r = ranges[group];
      if (std::fabs(x) > std::fabs(r.largest)) r.largest = x;
      r.least = std::min(r.least, x);
      r.most = std::max(r.most, x);
    });
  });
  return finite ? ranges : std::vector<GroupRange>();
}

// The numbers that a tensor's become, and how its elements share what decides that.
struct FewBits {
  std::string name, says;  // "int8", "8-bit integers"
  Sharing sharing;
  std::function<double(double x, const GroupRange& group)> nearest;
  bool says_sharing = true;  // which the name of the kind says else
};

bool quantise(TensorData& t, const FewBits& k) {
  if (t.numel() < kFewestToScale || !can_share(k.sharing, t)) return false;
  const std::vector<GroupRange> ranges = ranges_of(k.sharing, t);
  if (ranges.empty()) return false;
  const Runs runs(k.sharing, t);
  return t.change_blocks([&](std::int64_t first, std::span<double> numbers) {
    runs.each(first, numbers, [&](std::size_t group, double& x) { x = k.nearest(x, ranges[group]); });
    return true;
  });
}

using NumberToNumber = double (*)(double);

// Quotients by the scale go to the nearest number that there is, and these are multiplied by the scale as it is kept.
std::function<double(double, const GroupRange&)> by_scale(NumberToNumber scale_of_largest,
                                                          NumberToNumber nearest, NumberToNumber kept) {
  return [=](double x, const GroupRange& r) {
    const double scale = scale_of_largest(r.largest);
    return scale == 0 ? x : nearest(x / scale) * kept(scale);
  };
}

// To nearest even; what is too large becomes the largest number, as in kernels that quantise.
template <Dtype dtype>
double to_float8(double x) {
  const Format& f = format(dtype);
  return std::clamp(round_to(std::clamp(x, -f.max, f.max), f), -f.max, f.max);
}

// 1 bit for the sign, 2 for the exponent, 1 for the fraction: 0, 1/2, 1, 3/2, 2, 3, 4 and 6 (OCP Microscaling Formats, f4e2m1).
double to_float4(double x) {
  static constexpr Format kFormat{2, 0, 6, 0x1p-2, 1, 0.5, false};
  return round_to(std::clamp(x, -kFormat.max, kFormat.max), kFormat);
}

double in_f16(double x) { return round_to(x, format(Dtype::f16)); }

// A power of two, so that the largest number has the format's largest exponent.
template <int kLargestExponent>
double power_of_two(double largest) {
  return largest == 0 ? 0 : std::ldexp(1.0, std::ilogb(largest) - kLargestExponent);
}

// Without scales: of what is already of their size.
double unscaled(double) { return 1; }

// As kernels keep it, so that what they multiply by it is rounded once more, by whoever stores it in f32.
double in_f32(double scale) { return round_to(scale, format(Dtype::f32)); }

double over_127(double x) { return std::fabs(x) / 127; }
double over_448(double x) { return std::fabs(x) / 448; }
double as_it_is(double scale) { return scale; }

// Integers of so many bits, as kernels that quantise choose them.
void add_integers(int bits, std::span<const Sharing> sharings, std::vector<FewBits>& all) {
  const double levels = std::ldexp(1, bits) - 1, half = std::ldexp(1, bits - 1);
  const std::string name = fmt::format("int{}", bits), says = fmt::format("{}-bit integers", bits);
  for (const Sharing& s : sharings) {
    // -7 to 7
    all.push_back({name, says, s, [=](double x, const GroupRange& r) {
                     const double scale = in_f32(std::fabs(r.largest) / (half - 1));
                     return scale == 0 ? x : std::nearbyint(x / scale) * scale;
                   }});
    // -8 to 7
    all.push_back({name + "_to_the_last", fmt::format("{} from {} to {}", says, -half, half - 1), s,
                   [=](double x, const GroupRange& r) {
                     const double scale = in_f32(std::fabs(r.largest) / half);
                     return scale == 0 ? x : std::clamp(std::nearbyint(x / scale), -half, half - 1) * scale;
                   }});
    // 0 to 15, one of which is 0
    all.push_back({name + "_with_a_zero_point", fmt::format("{} with a zero point", says), s,
                   [=](double x, const GroupRange& r) {
                     const double least = std::min(r.least, 0.0),
                                  scale = in_f32((std::max(r.most, 0.0) - least) / levels);
                     if (scale == 0) return x;
                     const double zero = std::nearbyint(-least / scale);
                     return (std::clamp(std::nearbyint(x / scale) + zero, 0.0, levels) - zero) * scale;
                   }});
    // 0 to 15 above the smallest
    all.push_back({name + "_above_the_least", fmt::format("{} above the smallest element", says), s,
                   [=](double x, const GroupRange& r) {
                     const double scale = in_f32((r.most - r.least) / levels);
                     return scale == 0 ? x : std::nearbyint((x - r.least) / scale) * scale + r.least;
                   }});
  }
}

std::vector<FewBits> made_few_bits() {
  const auto f8e4m3 = to_float8<Dtype::f8e4m3>, f8e5m2 = to_float8<Dtype::f8e5m2>;
  std::vector<FewBits> all;
  for (const int bits : {8, 4}) add_integers(bits, kSharings, all);
  for (const int bits : {3, 2})
    add_integers(bits, std::array{kOfFirst, kBlocks32, kBlocks64, kBlocks128}, all);
  all.push_back({"f8e4m3", "f8e4m3", kOneScale, by_scale(unscaled, f8e4m3, as_it_is), false});
  all.push_back({"f8e5m2", "f8e5m2", kOneScale, by_scale(unscaled, f8e5m2, as_it_is), false});
  for (const Sharing& s : {kOneScale, kOfFirst, kOfLast, kBlocks16, kBlocks32, kBlocks64, kBlocks128})
    all.push_back({"f8e4m3", "f8e4m3", s, by_scale(over_448, f8e4m3, as_it_is)});
  all.push_back({"mxfp8", "MXFP8, f8e4m3 with a power of two for each 32 innermost elements,", kBlocks32,
                 by_scale(power_of_two<8>, f8e4m3, as_it_is), false});
  all.push_back({"mxfp4", "MXFP4, f4e2m1 with a power of two for each 32 innermost elements,", kBlocks32,
                 by_scale(power_of_two<2>, to_float4, as_it_is), false});
  // ggml-quants.c quantize_row_q8_0_ref, quantize_row_q4_0_ref and quantize_row_q4_1_ref: quotients by the scale as it was, and numbers by
  // the scale in f16.
  all.push_back({"q8_0", "ggml's Q8_0, 8-bit integers with an f16 scale for each 32 innermost elements,",
                 kBlocks32,
                 by_scale(
                     over_127, [](double x) { return std::round(x); }, in_f16),
                 false});
  all.push_back({"q4_0", "ggml's Q4_0, 4-bit integers with an f16 scale for each 32 innermost elements,",
                 kBlocks32,
                 by_scale([](double x) { return x / -8; },
                          [](double x) { return std::min(15.0, std::floor(x + 8.5)) - 8; }, in_f16),
                 false});
  all.push_back(
      {"q4_1",
       "ggml's Q4_1, 4-bit integers above an f16 minimum, with an f16 scale, for each 32 innermost elements,",
       kBlocks32,
       [](double x, const GroupRange& r) {
         const double scale = (r.most - r.least) / 15;
         if (scale == 0) return x;
         return std::min(15.0, std::floor((x - r.least) / scale + 0.5)) * in_f16(scale) + in_f16(r.least);
       },
       false});
  return all;
}

const std::vector<FewBits>& few_bits() {
  static const std::vector<FewBits> all = made_few_bits();
  return all;
}

}  // namespace

void add_quantised(const Operator& op, std::size_t argument, std::vector<Variant>& all) {
  const std::string_view name = op.schema.argument_storage[argument].name;
  for (const FewBits& k : few_bits())
    all.push_back(
        {.name = k.says_sharing ? fmt::format("{}.as_{}_{}", name, k.name, k.sharing.name)
                                : fmt::format("{}.as_{}", name, k.name),
         .says = k.says_sharing ? fmt::format("rounds {} to {} with {} first", name, k.says, k.sharing.says)
                                : fmt::format("rounds {} to {} first", name, k.says),
         .arguments =
             [argument, &k](Call& call) {
               auto* t = std::get_if<TensorData>(&call.arguments[argument]);
               if (t == nullptr || t->numel() == 0 || (t->dtype != Dtype::f32 && t->dtype != Dtype::f64))
                 return false;
               return quantise(*t, k);
             },
         .argument = static_cast<int>(argument)});
}

}  // namespace assay::diagnose

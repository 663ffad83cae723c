#include "quantised.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
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
    kBlocks32{Sharing::By::block, 32, "by_blocks_of_32", "a scale for each 32 innermost elements"},
    kBlocks128{Sharing::By::block, 128, "by_blocks_of_128", "a scale for each 128 innermost elements"};

bool can_share(const Sharing& s, const TensorData& t) {
  if (s.by == Sharing::By::block) return !t.shape.empty() && t.shape.back() % s.size == 0;
  return s.by == Sharing::By::all || t.shape.size() > 1;
}

std::size_t group_of(const Sharing& s, const TensorData& t, std::int64_t i) {
  switch (s.by) {
    case Sharing::By::all:
      return 0;
    case Sharing::By::first:
      return static_cast<std::size_t>(i / (t.numel() / t.shape.front()));
    case Sharing::By::last:
      return static_cast<std::size_t>(i % t.shape.back());
    case Sharing::By::block:
      return static_cast<std::size_t>(i / s.size);
  }
  return 0;
}

// The element of each group whose magnitude is the largest, the first of several. Nothing where there is NaN or an infinity.
std::vector<double> largest_of(const Sharing& s, const TensorData& t) {
  std::vector<double> largest;
  for (std::int64_t i = 0, n = t.numel(); i < n; ++i) {
    const std::size_t group = group_of(s, t, i);
    const double x = t.get(i);
    if (!std::isfinite(x)) return {};
    if (group >= largest.size()) largest.resize(group + 1);
    if (std::fabs(x) > std::fabs(largest[group])) largest[group] = x;
  }
  return largest;
}

using NumberToNumber = double (*)(double);

// Quotients by the scale go to the nearest number that there is, and these are multiplied by the scale as it is kept.
struct FewBits {
  std::string_view name, says;  // "int8", "8-bit integers"
  Sharing sharing;
  NumberToNumber scale_of;  // a group's largest element
  NumberToNumber nearest;
  NumberToNumber kept;       // the scale
  bool says_sharing = true;  // which the name of the kind says else
};

bool quantise(TensorData& t, const FewBits& k) {
  if (t.numel() < kFewestToScale || !can_share(k.sharing, t)) return false;
  std::vector<double> scales = largest_of(k.sharing, t);
  for (double& s : scales) s = k.scale_of(s);
  return !scales.empty() && change_each(t, [&](std::int64_t i, double x) {
    const double scale = scales[group_of(k.sharing, t, i)];
    return scale == 0 ? x : k.nearest(x / scale) * k.kept(scale);
  });
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

double over_127(double x) { return std::fabs(x) / 127; }
double over_7(double x) { return std::fabs(x) / 7; }
double over_448(double x) { return std::fabs(x) / 448; }
double to_whole(double x) { return std::nearbyint(x); }
double as_it_is(double scale) { return scale; }

constexpr FewBits kFewBits[] = {
    {"int8", "8-bit integers", kOneScale, over_127, to_whole, as_it_is},
    {"int8", "8-bit integers", kOfFirst, over_127, to_whole, as_it_is},
    {"int8", "8-bit integers", kOfLast, over_127, to_whole, as_it_is},
    {"int4", "4-bit integers", kOneScale, over_7, to_whole, as_it_is},
    {"int4", "4-bit integers", kOfFirst, over_7, to_whole, as_it_is},
    {"int4", "4-bit integers", kOfLast, over_7, to_whole, as_it_is},
    {"int4", "4-bit integers", kBlocks32, over_7, to_whole, as_it_is},
    {"int4", "4-bit integers", kBlocks128, over_7, to_whole, as_it_is},
    {"f8e4m3", "f8e4m3", kOneScale, unscaled, to_float8<Dtype::f8e4m3>, as_it_is, false},
    {"f8e5m2", "f8e5m2", kOneScale, unscaled, to_float8<Dtype::f8e5m2>, as_it_is, false},
    {"f8e4m3", "f8e4m3", kOneScale, over_448, to_float8<Dtype::f8e4m3>, as_it_is},
    {"f8e4m3", "f8e4m3", kOfFirst, over_448, to_float8<Dtype::f8e4m3>, as_it_is},
    {"f8e4m3", "f8e4m3", kOfLast, over_448, to_float8<Dtype::f8e4m3>, as_it_is},
    {"f8e4m3", "f8e4m3", kBlocks128, over_448, to_float8<Dtype::f8e4m3>, as_it_is},
    {"mxfp8", "MXFP8, f8e4m3 with a power of two for each 32 innermost elements,", kBlocks32, power_of_two<8>,
     to_float8<Dtype::f8e4m3>, as_it_is, false},
    {"mxfp4", "MXFP4, f4e2m1 with a power of two for each 32 innermost elements,", kBlocks32, power_of_two<2>,
     to_float4, as_it_is, false},
    // ggml-quants.c quantize_row_q8_0_ref and quantize_row_q4_0_ref: quotients by the scale as it was, and numbers by the scale in f16.
    {"q8_0", "ggml's Q8_0, 8-bit integers with an f16 scale for each 32 innermost elements,", kBlocks32,
     over_127, [](double x) { return std::round(x); }, in_f16, false},
    {"q4_0", "ggml's Q4_0, 4-bit integers with an f16 scale for each 32 innermost elements,", kBlocks32,
     [](double x) { return x / -8; }, [](double x) { return std::min(15.0, std::floor(x + 8.5)) - 8; },
     in_f16, false}};

}  // namespace

void add_quantised(const Operator& op, std::size_t argument, std::vector<Variant>& all) {
  const std::string_view name = op.schema.argument_storage[argument].name;
  for (const FewBits& k : kFewBits)
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

#include "families.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "edge.h"
#include "masked.h"
#include "normal.h"

namespace assay {
namespace {

using Values = std::span<double>;

// One tensor of the first two is the special one of its family; which one, the call decides. A call's only tensor is
// never special.
bool special(const Target& t) {
  if (t.tensors < 2) return false;
  return t.ordinal >= 2 || t.ordinal == static_cast<int>(t.shared.word(0) & 1);
}

int significand_bits(Dtype d) { return is_float(d) ? format(d).precision : d == Dtype::boolean ? 1 : 7; }

int bits_for(std::int64_t terms) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(terms, 1))));
}

double sign(std::uint64_t word) { return (word >> 63) != 0 ? -1.0 : 1.0; }

// Scales seen in networks, so that parameters are below 0, between 0 and 1, and above 1, and 0 and 1 themselves.
double slope(const Target& t, std::uint64_t i) {
  const double x = normal(t.own, i);
  switch (t.own.word(i) % 9) {
    case 0:
    case 1:
      return -std::fabs(x);
    case 2:
    case 3:
      return t.own.unit(i + 1);
    case 4:
    case 5:
      return 1 + std::fabs(x);
    case 6:
      return t.own.below(i + 1, 2) == 0 ? 0.0 : 1.0;
    default:
      return x;
  }
}

void ones(const Target&, Values values) { std::ranges::fill(values, 1.0); }

void constant(const Target& t, Values values) {
  constexpr std::array kConstants{1.0, -1.0, 2.0, 0.5, 3.0, -0.75, 1.0 / 3, 0.0};
  const std::int64_t which = t.own.below(0, 10);
  std::ranges::fill(values, which < 8 ? kConstants[static_cast<std::size_t>(which)] : normal(t.own, 0));
}

// terms * greatest^2 <= 2^precision: sums of products are exact in any order.
void integers(const Target& t, Values values) {
  // Of multiples of half a step every second one is a tie, which decides between roundings.
  if (constexpr std::int64_t kMost = 31; t.step > 0 && t.step * kMost < format(t.dtype).max) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(t.own.below(i, 2 * kMost + 1) - kMost) * (t.step / 2);
    return;
  }
  constexpr std::array<std::int64_t, 6> kGreatest{2, 3, 8, 8, 8, 16};
  const int bits = std::min((t.precision - bits_for(t.terms)) / 2, significand_bits(t.dtype));
  const std::int64_t greatest = std::clamp<std::int64_t>(
      kGreatest[static_cast<std::size_t>(t.shared.below(2, 6))], 1, std::int64_t{1} << std::max(bits, 0));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(t.own.below(i, 2 * greatest + 1) - greatest);
}

// Products are 12 bits wide however the kernel forms them, and sums of up to 2^(precision-12) of them are exact: what
// remains are the bits of the operands, which a kernel that narrows them loses.
void trits(const Target& t, Values values) {
  if (special(t)) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(t.own.below(i, 3) - 1);
    return;
  }
  const int bits =
      std::clamp(std::min({12, significand_bits(t.dtype), t.precision - bits_for(t.terms)}), 1, 12);
  const std::int64_t greatest = (std::int64_t{1} << bits) - 1;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(t.own.below(i, 2 * greatest + 1) - greatest);
}

// Odd in the last significand bit, so that any rounding shows; magnitudes from 1/4 to 8.
double full_precision(const Target& t, std::uint64_t i) {
  const int fraction_bits = std::max(significand_bits(t.dtype) - 1, 1);
  const std::uint64_t word = t.own.word(2 * i);
  const auto fraction = static_cast<double>(word >> (64 - fraction_bits) | 1);
  const int exponent = static_cast<int>(t.own.below(2 * i + 1, 5)) - 2;
  return sign(word << 63) * scaled(1 + scaled(fraction, -fraction_bits), exponent);
}

// Each sum has one term that is not zero, so that results are one operand's numbers to the last bit.
void selection(const Target& t, Values values) {
  if (!special(t)) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = full_precision(t, i);
    return;
  }
  if (t.shape.size() < 2) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = sign(t.own.word(i)) * scaled(1.0, static_cast<int>(t.own.below(i, 3)) - 1);
    return;
  }
  const auto columns = static_cast<std::size_t>(t.shape.back());
  const auto rows = static_cast<std::size_t>(t.shape[t.shape.size() - 2]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t column = i % columns;
    const std::size_t row = i / columns;
    const std::size_t matrix = row / rows;
    // The first operand picks with its rows, the second with its columns.
    const bool chosen = t.ordinal == 0
                            ? t.own.below(row, t.shape.back()) == static_cast<std::int64_t>(column)
                            : t.own.below(matrix * columns + column, static_cast<std::int64_t>(rows)) ==
                                  static_cast<std::int64_t>(row % rows);
    values[i] = chosen ? 1.0 : 0.0;
  }
}

void uniform(const Target& t, Values values) {
  struct Interval {
    double least, greatest;
  };
  constexpr std::array<Interval, 4> kIntervals{{{0, 1}, {-1, 1}, {-1, 1}, {-8, 8}}};
  const Interval in = kIntervals[static_cast<std::size_t>(t.own.below(1u << 30, 4))];
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = in.least + (in.greatest - in.least) * t.own.unit(i);
}

// One of the operator's ranges for each tensor, uniformly or crowded at one end, down to its neighbouring numbers.
void ranged(const Target& t, Values values) {
  if (t.ranges.empty()) return uniform(t, values);
  const Range in =
      t.ranges[static_cast<std::size_t>(t.own.below(1u << 30, static_cast<std::int64_t>(t.ranges.size())))];
  const std::int64_t where = t.own.below((1u << 30) + 1, 4);
  const double width = in.greatest - in.least;
  const int octaves = significand_bits(t.dtype) + 4;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double distance =
        width * scaled(1 - t.own.unit(2 * i) / 2, -static_cast<int>(t.own.below(2 * i + 1, octaves)));
    if (where < 2)
      values[i] = in.least + width * t.own.unit(2 * i);
    else
      values[i] = where == 2 ? in.least + distance : in.greatest - distance;
  }
}

void normals(const Target& t, Values values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = t.parameter ? slope(t, i) : normal(t.own, i);
}

// What a formula does not read must not reach the result: among NaN and infinities in every tensor nobody would see it. What it does
// read must: a kernel that leaves products with 0 out loses the NaN of 0 times infinity, so that half of the others are sometimes 0.
void one_special(const Target& t, Values values) {
  normals(t, values);
  const bool zeros = (t.shared.word(1u << 26) & 1) != 0;
  const int which = t.shared.below((1u << 26) + 1, 4) == 0 ? t.tensors - 1 : 0;
  if (t.ordinal != which && zeros && !t.parameter)
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((t.own.word((1u << 27) + i) & 1) != 0) values[i] = 0;
  if (t.ordinal != which || !is_float(t.dtype)) return;
  const double kinds[] = {std::nan(""), HUGE_VAL, -HUGE_VAL};
  // One at least, and few others: where they reach the result nothing else is seen.
  const auto n = static_cast<std::int64_t>(values.size());
  const std::int64_t one = n > 0 ? t.own.below(1u << 30, n) : 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (static_cast<std::int64_t>(i) == one || t.own.below((1u << 29) + i, 48) == 0)
      values[i] = kinds[t.own.below((1u << 28) + i, 3)];
}

// A mean far from 0: differences from it are small beside the numbers.
void offset(const Target& t, Values values) {
  constexpr std::array kMeans{1e1, 1e2, 1e3, 1e4};
  double mean = kMeans[static_cast<std::size_t>(t.own.below(1u << 30, 4))];
  while (is_float(t.dtype) && mean > format(t.dtype).max / 8) mean /= 10;
  mean *= sign(t.own.word((1u << 30) + 1));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = mean + normal(t.own, i);
}

// Neighbouring terms of a sum, or the same element of two tensors, differ only in their last bits.
void cancelling(const Target& t, Values values) {
  const bool across = t.twin >= 0 && (t.shared.word(1) & 1) != 0;
  const std::size_t rank = t.shape.size();
  std::size_t step = 1;  // between partners
  std::size_t length = rank == 0 ? 1 : static_cast<std::size_t>(t.shape.back());
  if (t.ordinal > 0 && rank >= 2) {
    step = length;
    length = static_cast<std::size_t>(t.shape[rank - 2]);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool second = across ? t.ordinal % 2 == 1 : i / step % length % 2 == 1;
    const std::size_t pair = across || !second ? i : i - step;
    const Stream& from = across ? t.shared : t.own;
    double x = scaled(normal(from, pair), static_cast<int>(from.below(pair, 12)));
    // Of a product's two sums one alternates in sign, the other repeats: the products cancel.
    if (second && (across || t.ordinal == 0))
      x *= -(1 + scaled(static_cast<double>(t.own.below(i, 5) - 2), 2 - significand_bits(t.dtype)));
    values[i] = x;
  }
}

// Magnitudes over four fifths of the exponents, 1e-30 to 1e30 in f32, or over half of those: always where ranges are
// declared, because powers of larger numbers overflow, and then anything is right.
void wide(const Target& t, Values values) {
  const double greatest = is_float(t.dtype) ? format(t.dtype).max : 64;
  int reach = std::ilogb(greatest) * 4 / 5;
  if ((t.shared.word(3) & 1) != 0 || !t.ranges.empty()) reach /= 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t word = t.own.word(2 * i);
    values[i] =
        sign(word) * scaled(1 + t.own.unit(2 * i + 1),
                            static_cast<int>(word % static_cast<std::uint64_t>(2 * reach + 1)) - reach);
  }
}

// Positive numbers: a sum only grows, until a narrow accumulator takes nothing more.
void accumulation(const Target& t, Values values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5 + t.own.unit(i);
}

// A kernel that reads or writes subnormal numbers as zero: nothing larger hides what it loses.
void tiny(const Target& t, Values values) {
  if (!is_float(t.dtype)) return integers(t, values);
  // Beside others as well, the first, the second or any: what is tiny then is a product, or a sum of which the rest is zero.
  // Where many tensors meet in one element, any of its numbers may be the others.
  const std::int64_t beside = t.tensors > 1 ? t.shared.below(5, 4) : 3;
  const bool others = beside < 2 ? beside == t.ordinal : beside == 2 && (t.own.word(1u << 29) & 1) != 0;
  const bool each = beside >= 2 && t.tensors >= 4;
  if (others || each) normals(t, values);
  if (others && !each) return;
  const Format& f = format(t.dtype);
  const double least = t.shared.below(4, 3) != 0 ? f.min_normal : std::sqrt(f.min_normal);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t word = t.own.word(2 * i);
    if (each && (word >> 32 & 1) != 0) continue;
    const double size =
        word % 8 == 0 ? 0 : scaled(least, static_cast<int>(word % 4) - 2) * (1 + t.own.unit(2 * i + 1));
    values[i] = sign(word) * size;
  }
}

constexpr int kWeightOfATensor = 4;  // beyond two

constexpr Family kFamilies[] = {
    {"ones", "every element 1", 2, ones},
    {"constant", "one number for each tensor", 3, constant},
    {"integers",
     "small integers whose sums are exact in any order; where they are quantised, halves of steps", 14,
     integers},
    {"trits", "12-bit integers in one tensor, -1, 0 and 1 in the other", 8, trits},
    {"selection", "full precision in one tensor, a selection matrix in the other", 8, selection},
    {"uniform", "uniform between 0 and 1, -1 and 1, or -8 and 8", 9, uniform},
    {"normal", "mean 0, variance 1; slopes below 0, between 0 and 1, and above 1", 16, normals},
    {"range", "where the operator's function is interesting, often crowded at one end of it", 20, ranged},
    {"offset", "variance 1 around a mean of 10 to 10000", 8, offset},
    {"cancelling", "terms of opposite sign that nearly cancel", 8, cancelling},
    {"wide",
     "magnitudes from 1e-30 to 1e30, less for narrow formats; large integers that differ in their last digits",
     10, wide},
    {"edge",
     "zeros and NaN of both signs, infinities, subnormals, the largest and smallest numbers, kinks and their neighbours",
     28, fill_edge},
    {"special",
     "NaN and infinities in one tensor, mostly the first; in the others numbers as normal, or half of them 0",
     6, one_special},
    {kMasked, "lines of a reduction that begin or end with -inf, as under attention masks", 10, fill_masked},
    {"tiny", "zeros, and subnormal numbers or those whose products are, beside tensors as normal", 16, tiny},
    {"long", "positive numbers for long sums", 0, accumulation},
    {kPastEnd, "as normal, but one index is the number of rows: not allowed", 0, normals},
    {kNegativeIndex, "as normal, but one index is -1: not allowed", 0, normals},
    {kZeroDivisor, "as normal, but one divisor of integers is 0: not allowed", 0, normals},
};

}  // namespace

void fill_scales(const Target& t, Values values) {
  const bool powers = (t.own.word(1u << 29) & 1) != 0;
  // Sometimes beyond what networks have, for what is declared is any positive number.
  const bool any = t.own.below((1u << 29) + 1, 6) == 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exponent =
        static_cast<double>(any ? t.own.below(2 * i, 40) : t.own.below(2 * i, 7) + 10) - 20;
    values[i] = std::exp2(exponent) * (powers ? 1 : 1 + t.own.unit(2 * i + 1));
  }
}

void fill_zero_points(const Target& t, Values values) {
  const auto least = static_cast<std::int64_t>(t.zero_points->least);
  const std::int64_t count = static_cast<std::int64_t>(t.zero_points->greatest) - least + 1;
  const bool symmetric = (t.own.word(1u << 29) & 1) != 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t any = least + t.own.below(2 * i, count);
    const std::int64_t end = t.own.below(2 * i + 1, 2) == 0 ? least : least + count - 1;
    values[i] = symmetric ? 0 : static_cast<double>(t.own.below(2 * i + 1, 4) == 0 ? end : any);
  }
}

void fill_index(const Target& t, std::string_view family, Values values) {
  const std::int64_t n = t.rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t any = t.own.below(2 * i, n);
    std::int64_t row = any;
    if (family == "ones") row = std::min<std::int64_t>(1, n - 1);
    if (family == "constant") row = t.own.below(0, n);
    if (family == "integers") row = static_cast<std::int64_t>(i) % n;
    if (family == "edge" && t.own.below(2 * i + 1, 4) != 0) row = any % 2 == 0 ? 0 : n - 1;
    values[i] = static_cast<double>(row);
  }
  const auto one = static_cast<std::size_t>(t.own.below(1u << 30, static_cast<std::int64_t>(values.size())));
  if (family == kPastEnd) values[one] = static_cast<double>(n);
  if (family == kNegativeIndex) values[one] = -1;
}

void keep_from_zero(const Target& t, std::string_view family, Values values) {
  const double modulus = scaled(1, 8 * bytes(*t.nonzero));
  for (double& v : values)
    if (std::fmod(v, modulus) == 0) v = 1;
  const auto one = static_cast<std::size_t>(t.own.below(1u << 30, static_cast<std::int64_t>(values.size())));
  if (family == kZeroDivisor) values[one] = 0;
}

bool may_be_refused(std::string_view family) {
  return family == kPastEnd || family == kNegativeIndex || family == kZeroDivisor;
}

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view name) {
  const auto at = std::ranges::find(kFamilies, name, &Family::name);
  return at == std::end(kFamilies) ? nullptr : &*at;
}

// What is special may be so in each tensor: the more there are, the more cases it takes.
int weight_for(const Operator& op, const Family& family) {
  if (family.fill == ranged && op.ranges.empty()) return 0;
  if (family.fill == fill_masked && !has_lines(op)) return 0;
  const auto tensors =
      static_cast<int>(std::ranges::count(op.schema.arguments(), Type::tensor, &Argument::type));
  if (family.fill == one_special && tensors < 2) return 0;  // there is no other tensor
  // Most ordinary numbers are finite, unequal and not 0: what is true of the others shows at the edge, and what is true of two that are
  // equal among small integers.
  const int times = op.truths == 0                             ? 1
                    : family.fill == fill_edge                 ? 8
                    : family.name == "integers" && tensors > 1 ? 4
                                                               : 1;
  const int weight = times * family.weight;
  if (family.fill != fill_edge && family.fill != tiny) return weight;
  return weight + kWeightOfATensor * std::max(tensors - 2, 0);
}

}  // namespace assay

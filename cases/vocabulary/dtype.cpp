#include "dtype.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace assay {
namespace {

constexpr double power_of_two(int exponent) {  // within the range of normal doubles
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

constexpr Format make_format(int precision, int min_exponent, double max, bool has_infinity = true) {
  // The smallest subnormal double is below power_of_two's range.
  const int smallest = min_exponent - precision + 1;
  const double subnormal =
      smallest < -1022 ? std::numeric_limits<double>::denorm_min() : power_of_two(smallest);
  return {precision, min_exponent, max, power_of_two(-precision), power_of_two(min_exponent),
          subnormal, has_infinity};
}

constexpr Format kFormats[] = {
    make_format(53, -1022, std::numeric_limits<double>::max()),  // f64
    make_format(24, -126, std::numeric_limits<float>::max()),    // f32
    make_format(11, -14, 65504.0),                               // f16
    make_format(8, -126, 0x1.FEp127),                            // bf16
    make_format(4, -6, 448.0, false),                            // f8e4m3
    make_format(3, -14, 57344.0),                                // f8e5m2
    make_format(64, 63, 0x1p63, false),                          // i64
    make_format(52, 51, 0x1p52 - 1, false),                      // i32
    make_format(52, 51, 0x1p52 - 1, false),                      // i16
    make_format(52, 51, 0x1p52 - 1, false),                      // i8
    make_format(52, 51, 0x1p52 - 1, false),                      // u8
    make_format(52, 51, 0x1p52 - 1, false),                      // bool
};
static_assert(std::size(kFormats) == kDtypes);  // in the order of Dtype

// x as a multiple of the format's spacing at x, to nearest even, and that spacing. Of a format that is narrower than f32
// or f32, and an x that is not far beyond its range: a double of that size has the spacing for its unit.
struct Multiple {
  double nearest, spacing;
  double below(double x) const { return nearest > x ? nearest - spacing : nearest; }
};
bool has_multiple(double x, const Format& f) { return f.precision <= 24 && std::fabs(x) < 0x1p500; }
Multiple multiple(double x, const Format& f) {
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023;
  const double spacing = power_of_two(std::max(exponent, f.min_exponent) - f.precision + 1);
  const double large = 0x1.8p52 * spacing;
  return {std::copysign((x + large) - large, x), spacing};
}

// The same for any format and number, rounded by `to_integer`.
template <class Round>
double quantise(double x, const Format& f, Round to_integer) {
  if (!std::isfinite(x) || x == 0 || f.precision >= 53) return x;
  const int exponent = std::max(std::ilogb(x), f.min_exponent);
  const double quantum = power_of_two(exponent - f.precision + 1);
  return std::copysign(to_integer(x / quantum) * quantum, x);
}

// The bits of a value that is exactly representable in a format narrower than f32.
std::uint32_t encode(double x, const Format& f, int bits) {
  const int fraction_bits = f.precision - 1;
  const std::uint32_t sign = std::signbit(x) ? 1u << (bits - 1) : 0;
  const std::uint32_t exponent_ones = ((1u << (bits - 1)) - 1) & ~((1u << fraction_bits) - 1);
  if (std::isnan(x))
    return sign | (f.has_infinity ? exponent_ones | 1u << (fraction_bits - 1) : (1u << (bits - 1)) - 1);
  if (std::isinf(x)) return sign | exponent_ones;
  const double magnitude = std::fabs(x);
  if (magnitude < f.min_normal) return sign | static_cast<std::uint32_t>(magnitude / f.min_subnormal);
  const int exponent = std::ilogb(magnitude);
  const double fraction = magnitude / power_of_two(exponent) - 1;
  return sign | static_cast<std::uint32_t>(exponent - f.min_exponent + 1) << fraction_bits |
         static_cast<std::uint32_t>(fraction * (1u << fraction_bits));
}

double decode(std::uint32_t code, const Format& f, int bits) {
  const int fraction_bits = f.precision - 1;
  const bool negative = (code >> (bits - 1) & 1) != 0;
  const std::uint32_t magnitude = code & ((1u << (bits - 1)) - 1);
  const std::uint32_t exponent = magnitude >> fraction_bits;
  const std::uint32_t fraction = magnitude & ((1u << fraction_bits) - 1);
  const std::uint32_t all_ones = (1u << (bits - 1 - fraction_bits)) - 1;
  double x = 0;
  if (f.has_infinity && exponent == all_ones)
    x = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (!f.has_infinity && magnitude == (1u << (bits - 1)) - 1)
    x = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    x = fraction * f.min_subnormal;
  else
    x = (1 + static_cast<double>(fraction) / (1u << fraction_bits)) *
        power_of_two(static_cast<int>(exponent) - 1 + f.min_exponent);
  return negative ? -x : x;
}

template <class T>
T read(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
template <class T>
void write(void* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

}  // namespace

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_float(a)) {
    if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
    return Dtype::f32;  // f16 with bf16 meets in f32, and so do the 8-bit formats
  }
  if (a == Dtype::boolean) return b;
  if (b == Dtype::boolean) return a;
  // u8 needs the next wider signed type beside i8.
  if ((a == Dtype::u8 && b == Dtype::i8) || (a == Dtype::i8 && b == Dtype::u8)) return Dtype::i16;
  return bytes(a) >= bytes(b) ? a : b;
}

const Format& format(Dtype d) { return kFormats[static_cast<std::size_t>(d)]; }

IntegerRange integer_range(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
      return {0, 1};
    case Dtype::u8:
      return {0, 255};
    case Dtype::i8:
      return {-128, 127};
    case Dtype::i16:
      return {-32768, 32767};
    case Dtype::i32:
      return {-0x1p31, 0x1p31 - 1};
    default:
      return {-0x1p63, 0x1p63 - 1024};
  }
}

double round_to(double x, const Format& f) {
  const double r = has_multiple(x, f) ? multiple(x, f).nearest
                                      : quantise(x, f, [](double q) { return std::nearbyint(q); });
  if (std::fabs(r) <= f.max || !std::isfinite(r)) return std::isinf(r) && !f.has_infinity ? std::nan("") : r;
  return f.has_infinity ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::nan("");
}

double round_down(double x, const Format& f) {
  const double r =
      has_multiple(x, f) ? multiple(x, f).below(x) : quantise(x, f, [](double q) { return std::floor(q); });
  if (r > f.max && std::isfinite(x)) return f.max;
  return r < -f.max ? -std::numeric_limits<double>::infinity() : r;
}

double round_up(double x, const Format& f) { return -round_down(-x, f); }

double load(const void* element, Dtype d) {
  switch (d) {
    case Dtype::f64:
      return read<double>(element);
    case Dtype::f32:
      return static_cast<double>(read<float>(element));
    case Dtype::bf16:
      return static_cast<double>(
          std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(element)) << 16));
    case Dtype::f16:
      return decode(read<std::uint16_t>(element), format(d), 16);
    case Dtype::f8e4m3:
    case Dtype::f8e5m2:
      return decode(read<std::uint8_t>(element), format(d), 8);
    default:
      return static_cast<double>(load_integer(element, d));
  }
}

void store(void* element, Dtype d, double value) {
  switch (d) {
    case Dtype::f64:
      return write(element, value);
    case Dtype::f32:
      return write(element, static_cast<float>(value));
    case Dtype::bf16:
    case Dtype::f16:
      return write(element, static_cast<std::uint16_t>(encode(round_to(value, format(d)), format(d), 16)));
    case Dtype::f8e4m3:
    case Dtype::f8e5m2:
      return write(element, static_cast<std::uint8_t>(encode(round_to(value, format(d)), format(d), 8)));
    default:
      return store_integer(element, d, static_cast<std::int64_t>(std::nearbyint(value)));
  }
}

std::int64_t load_integer(const void* element, Dtype d) {
  switch (d) {
    case Dtype::i64:
      return read<std::int64_t>(element);
    case Dtype::i32:
      return read<std::int32_t>(element);
    case Dtype::i16:
      return read<std::int16_t>(element);
    case Dtype::i8:
      return read<std::int8_t>(element);
    case Dtype::u8:
      return read<std::uint8_t>(element);
    case Dtype::boolean:
      return read<std::uint8_t>(element) != 0;
    default:
      return static_cast<std::int64_t>(load(element, d));
  }
}

void store_integer(void* element, Dtype d, std::int64_t value) {
  switch (d) {
    case Dtype::i64:
      return write(element, value);
    case Dtype::i32:
      return write(element, static_cast<std::int32_t>(value));
    case Dtype::i16:
      return write(element, static_cast<std::int16_t>(value));
    case Dtype::i8:
      return write(element, static_cast<std::int8_t>(value));
    case Dtype::u8:
      return write(element, static_cast<std::uint8_t>(value));
    case Dtype::boolean:
      return write(element, static_cast<std::uint8_t>(value != 0));
    default:
      return store(element, d, static_cast<double>(value));
  }
}

}  // namespace assay

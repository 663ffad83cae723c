// Element types, and the floating-point formats after them.
#pragma once

#include <assay/kernel.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay {

enum class Dtype : std::uint8_t { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, boolean };

inline constexpr int kDtypes = 12;

struct DtypeInfo {
  std::string_view name;
  std::string_view torch;  // torch.<name>
  int bytes;
  assay_dtype dlpack;
};

inline constexpr std::array<DtypeInfo, kDtypes> kDtypeInfo{{
    {"f64", "float64", 8, {ASSAY_FLOAT, 64, 1}},
    {"f32", "float32", 4, {ASSAY_FLOAT, 32, 1}},
    {"f16", "float16", 2, {ASSAY_FLOAT, 16, 1}},
    {"bf16", "bfloat16", 2, {ASSAY_BFLOAT, 16, 1}},
    {"f8e4m3", "float8_e4m3fn", 1, {ASSAY_FLOAT8_E4M3FN, 8, 1}},
    {"f8e5m2", "float8_e5m2", 1, {ASSAY_FLOAT8_E5M2, 8, 1}},
    {"i64", "int64", 8, {ASSAY_INT, 64, 1}},
    {"i32", "int32", 4, {ASSAY_INT, 32, 1}},
    {"i16", "int16", 2, {ASSAY_INT, 16, 1}},
    {"i8", "int8", 1, {ASSAY_INT, 8, 1}},
    {"u8", "uint8", 1, {ASSAY_UINT, 8, 1}},
    {"bool", "bool", 1, {ASSAY_BOOL, 8, 1}},
}};

constexpr const DtypeInfo& info(Dtype d) { return kDtypeInfo[static_cast<std::size_t>(d)]; }
constexpr std::string_view name(Dtype d) { return info(d).name; }
constexpr int bytes(Dtype d) { return info(d).bytes; }
constexpr bool is_float(Dtype d) { return d <= Dtype::f8e5m2; }

constexpr std::optional<Dtype> dtype_named(std::string_view text) {
  for (int i = 0; i < kDtypes; ++i)
    if (kDtypeInfo[static_cast<std::size_t>(i)].name == text) return static_cast<Dtype>(i);
  return std::nullopt;
}

constexpr std::optional<Dtype> dtype_of(assay_dtype d) {
  for (int i = 0; i < kDtypes; ++i) {
    const assay_dtype known = kDtypeInfo[static_cast<std::size_t>(i)].dlpack;
    if (known.code == d.code && known.bits == d.bits && d.lanes == 1) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

// A set of dtypes, written f32 | f64.
struct DtypeSet {
  std::uint16_t bits = 0;
  constexpr bool contains(Dtype d) const { return (bits >> static_cast<int>(d) & 1) != 0; }
  friend constexpr DtypeSet operator|(DtypeSet a, DtypeSet b) {
    return {static_cast<std::uint16_t>(a.bits | b.bits)};
  }
  friend constexpr DtypeSet operator&(DtypeSet a, DtypeSet b) {
    return {static_cast<std::uint16_t>(a.bits & b.bits)};
  }
  friend constexpr bool operator==(DtypeSet, DtypeSet) = default;
};
constexpr DtypeSet only(Dtype d) { return {static_cast<std::uint16_t>(1u << static_cast<int>(d))}; }
inline constexpr DtypeSet kFloatingPoint =
    only(Dtype::f64) | only(Dtype::f32) | only(Dtype::f16) | only(Dtype::bf16);
inline constexpr DtypeSet kArithmeticIntegers = only(Dtype::i64) | only(Dtype::i32) | only(Dtype::i16) |
                                              only(Dtype::i8) | only(Dtype::u8);
inline constexpr DtypeSet kIntegers = kArithmeticIntegers | only(Dtype::boolean);

// The dtype that ATen's type promotion gives two tensors of these dtypes (torch.promote_types).
Dtype promote(Dtype a, Dtype b);

// A binary floating-point format. A finite value is k * 2^q with |k| < 2^precision.
struct Format {
  int precision;         // significand bits, the implicit one included
  int min_exponent;      // the smallest normal number is 2^min_exponent
  double max;            // the largest finite number
  double unit;           // unit roundoff, 2^-precision
  double min_normal;     // 2^min_exponent
  double min_subnormal;  // 2^(min_exponent - precision + 1)
  bool has_infinity;     // false: f8e4m3, whose overflow is NaN
};

// Of an integer dtype, integers: all of them subnormal, with a spacing of 1. They reach farther than the dtype, whose
// range a formula keeps by itself. i64 rounds nothing: what is stored there is an integer already.
const Format& format(Dtype d);

// The least and greatest integer of a dtype that is not floating point, as far as double holds them.
struct IntegerRange {
  double least, greatest;
};
IntegerRange integer_range(Dtype dtype);

// x rounded once to the format: to nearest even (IEEE 754 roundTiesToEven), or towards an infinity.
// Signs of zero, NaN and infinities are kept; what is too large becomes infinite (NaN where there is none).
double round_to(double x, const Format& f);
double round_down(double x, const Format& f);
double round_up(double x, const Format& f);

// One element to and from memory. Integers beyond 2^53 lose bits in a double: integer operators use the int64 pair.
// store() rounds once, to nearest even; it saturates nothing.
double load(const void* element, Dtype d);
void store(void* element, Dtype d, double value);
std::int64_t load_integer(const void* element, Dtype d);
void store_integer(void* element, Dtype d, std::int64_t value);

// The same of many elements, one after the other, faster.
void load_all(const void* elements, Dtype d, std::span<double> values);
void store_all(void* elements, Dtype d, std::span<const double> values);

}  // namespace assay

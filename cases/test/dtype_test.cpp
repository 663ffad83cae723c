#include "vocabulary/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double encoded_then_decoded(Dtype d, double x) {
  std::uint64_t memory = 0;
  store(&memory, d, x);
  return load(&memory, d);
}

// Every code of the narrow formats: decoding, then encoding, gives the code again.
TEST(Dtype, EveryNarrowCodeRoundTrips) {
  for (const Dtype d : {Dtype::f16, Dtype::bf16, Dtype::f8e4m3, Dtype::f8e5m2}) {
    const std::uint32_t codes = 1u << (8 * bytes(d));
    for (std::uint32_t code = 0; code < codes; ++code) {
      const double x = load(&code, d);
      std::uint32_t back = 0;
      store(&back, d, x);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(load(&back, d))) << name(d) << " " << code;
      } else {
        ASSERT_EQ(back, code) << name(d);
      }
    }
  }
}

TEST(Dtype, DecodesKnownValues) {
  const auto decoded = [](Dtype d, std::uint32_t code) { return load(&code, d); };
  EXPECT_EQ(decoded(Dtype::f16, 0x3C00), 1.0);
  EXPECT_EQ(decoded(Dtype::f16, 0x7BFF), 65504.0);
  EXPECT_EQ(decoded(Dtype::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(decoded(Dtype::f16, 0xFC00), -kInfinity);
  EXPECT_EQ(decoded(Dtype::bf16, 0x4049), 3.140625);
  EXPECT_EQ(decoded(Dtype::f8e4m3, 0x7E), 448.0);
  EXPECT_TRUE(std::isnan(decoded(Dtype::f8e4m3, 0x7F)));
  EXPECT_EQ(decoded(Dtype::f8e5m2, 0x7B), 57344.0);
  EXPECT_EQ(decoded(Dtype::f8e5m2, 0x7C), kInfinity);
  EXPECT_TRUE(std::signbit(decoded(Dtype::f16, 0x8000)));
}

TEST(Dtype, IntegersAreAFormatWithASpacingOfOne) {
  for (const Dtype d : {Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8, Dtype::boolean}) {
    const Format& f = format(d);
    EXPECT_EQ(round_to(0.5, f), 0.0);
    EXPECT_EQ(round_to(1.5, f), 2.0);
    EXPECT_EQ(round_to(-2.5, f), -2.0);
    EXPECT_EQ(round_down(-2.5, f), -3.0);
    EXPECT_EQ(round_to(0x1p31, f), 0x1p31);
    EXPECT_EQ(f.min_subnormal, 1.0);
  }
  EXPECT_EQ(round_to(-0x1p63, format(Dtype::i64)), -0x1p63);
  EXPECT_EQ(integer_range(Dtype::i8).least, -128);
  EXPECT_EQ(integer_range(Dtype::u8).greatest, 255);
}

TEST(Dtype, RoundsTiesToEven) {
  const Format& f = format(Dtype::bf16);  // spacing 2^-7 between 1 and 2
  EXPECT_EQ(round_to(1 + 0x1p-8, f), 1.0);
  EXPECT_EQ(round_to(1 + 3 * 0x1p-8, f), 1 + 0x1p-6);
  EXPECT_EQ(round_to(1 + 0x1p-8 + 0x1p-40, f), 1 + 0x1p-7);  // directly from double: no double rounding
  EXPECT_EQ(round_to(f.min_subnormal / 2, f), 0.0);
  EXPECT_EQ(round_to(f.min_subnormal * 1.5, f), f.min_subnormal * 2);
  EXPECT_TRUE(std::signbit(round_to(-f.min_subnormal / 4, f)));
}

// Every number of a narrow format, what lies between it and the next, and both with the other sign.
TEST(Dtype, RoundsToTheNeighbour) {
  for (const Dtype d : {Dtype::f16, Dtype::bf16, Dtype::f8e4m3, Dtype::f8e5m2}) {
    const Format& f = format(d);
    for (std::uint32_t code = 0;; ++code) {
      const std::uint32_t next = code + 1;
      const double low = load(&code, d), high = load(&next, d), half = low + (high - low) / 2;
      if (!std::isfinite(high)) break;
      ASSERT_EQ(round_to(low, f), low);
      ASSERT_EQ(round_to(half, f), code % 2 == 0 ? low : high) << half;
      ASSERT_EQ(round_to(-half, f), code % 2 == 0 ? -low : -high) << half;
      ASSERT_EQ(round_to(std::nextafter(half, low), f), low) << half;
      ASSERT_EQ(round_to(std::nextafter(half, high), f), high) << half;
      for (const double between : {half, std::nextafter(low, high), std::nextafter(high, low)}) {
        ASSERT_EQ(round_down(between, f), low) << between;
        ASSERT_EQ(round_up(between, f), high) << between;
        ASSERT_EQ(round_down(-between, f), -high) << between;
        ASSERT_EQ(round_up(-between, f), -low) << between;
        ASSERT_FALSE(std::signbit(round_down(between, f)));
        ASSERT_TRUE(std::signbit(round_up(-between, f)));
      }
    }
  }
}

TEST(Dtype, Overflows) {
  EXPECT_EQ(round_to(65519.9, format(Dtype::f16)), 65504.0);
  EXPECT_EQ(round_to(65520.0, format(Dtype::f16)), kInfinity);
  EXPECT_EQ(round_to(-1e39, format(Dtype::f32)), -kInfinity);
  EXPECT_EQ(round_to(464.0, format(Dtype::f8e4m3)), 448.0);
  EXPECT_TRUE(std::isnan(round_to(465.0, format(Dtype::f8e4m3))));
  EXPECT_EQ(round_down(1e39, format(Dtype::f32)), static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(round_up(1e39, format(Dtype::f32)), kInfinity);
}

TEST(Dtype, AgreesWithTheHardwareInF32) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::bit_cast<double>(random());
    const double r = round_to(x, format(Dtype::f32));
    const double hardware = static_cast<double>(static_cast<float>(x));
    if (std::isnan(hardware)) {
      EXPECT_TRUE(std::isnan(r));
      continue;
    }
    ASSERT_EQ(r, hardware) << x;
    ASSERT_EQ(std::signbit(r), std::signbit(hardware)) << x;
    if (std::isfinite(x)) {
      ASSERT_LE(round_down(x, format(Dtype::f32)), x);
      ASSERT_GE(round_up(x, format(Dtype::f32)), x);
    }
  }
}

TEST(Dtype, KeepsNanAndSigns) {
  for (const Dtype d : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f8e5m2}) {
    EXPECT_TRUE(std::isnan(encoded_then_decoded(d, std::nan("")))) << name(d);
    EXPECT_TRUE(std::signbit(encoded_then_decoded(d, -0.0))) << name(d);
    EXPECT_EQ(encoded_then_decoded(d, -kInfinity), -kInfinity) << name(d);
  }
}

TEST(Dtype, PromotesAsTorchDoes) {
  EXPECT_EQ(promote(Dtype::f16, Dtype::bf16), Dtype::f32);
  EXPECT_EQ(promote(Dtype::bf16, Dtype::f32), Dtype::f32);
  EXPECT_EQ(promote(Dtype::f64, Dtype::f16), Dtype::f64);
  EXPECT_EQ(promote(Dtype::i64, Dtype::f16), Dtype::f16);
  EXPECT_EQ(promote(Dtype::u8, Dtype::i8), Dtype::i16);
  EXPECT_EQ(promote(Dtype::boolean, Dtype::u8), Dtype::u8);
}

TEST(Dtype, NamesAndDlpackCodesAreUnique) {
  for (int i = 0; i < kDtypes; ++i) {
    const auto d = static_cast<Dtype>(i);
    EXPECT_EQ(dtype_named(name(d)), d);
    EXPECT_EQ(dtype_of(info(d).dlpack), d);
  }
  EXPECT_EQ(dtype_named("float"), std::nullopt);
}

}  // namespace
}  // namespace assay

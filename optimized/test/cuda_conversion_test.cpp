// The CUDA kernels' conversions between element types (cuda/element.h), as a C++ compiler reads them, against
// cases/vocabulary/dtype.h: all codes, all roundings.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cuda/element.h"

namespace assay {
namespace {

template <class T>
inline constexpr Dtype kCudaDtype = std::is_same_v<T, double>          ? Dtype::f64
                                    : std::is_same_v<T, float>         ? Dtype::f32
                                    : std::is_same_v<T, __half>        ? Dtype::f16
                                    : std::is_same_v<T, __nv_bfloat16> ? Dtype::bf16
                                    : std::is_same_v<T, std::int64_t>  ? Dtype::i64
                                    : std::is_same_v<T, std::int32_t>  ? Dtype::i32
                                    : std::is_same_v<T, std::int16_t>  ? Dtype::i16
                                    : std::is_same_v<T, std::int8_t>   ? Dtype::i8
                                                                       : Dtype::u8;

template <class T>
class CudaHalf : public testing::Test {
 protected:
  static constexpr Dtype type = kCudaDtype<T>;

  static T code(std::uint32_t bits) { return T{static_cast<std::uint16_t>(bits)}; }
  static double value(T x) { return load(&x, type); }

  // NaN is one, whichever; anything else is the same code.
  static testing::AssertionResult same(T converted, double x) {
    T expected;
    store(&expected, type, x);
    if (std::isnan(x) ? std::isnan(value(converted)) : converted.bits == expected.bits)
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << std::hexfloat << x << " became " << value(converted) << ", not " << value(expected);
  }
};
using Halves = testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(CudaHalf, Halves);

TYPED_TEST(CudaHalf, EveryCodeIsWidened) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const TypeParam x = this->code(bits);
    const float wide = cuda::widened(x);
    const double expected = this->value(x);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      continue;
    }
    ASSERT_EQ(wide, expected) << bits;
    ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << bits;
    ASSERT_EQ(cuda::narrowed<TypeParam>(wide).bits, x.bits);
  }
}

// At each number and halfway to the next one: there, a last bit of f64 beside it, and so little beside it
// that f32 does not see it, but more than that bit.
TYPED_TEST(CudaHalf, DoublesAreRoundedOnce) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::uint32_t bits = 0; bits < 65535; ++bits) {
    const double here = this->value(this->code(bits)), next = this->value(this->code(bits + 1));
    for (const double x : {here, here / 2 + next / 2})
      for (const double beside : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity),
                                  x * (1 + 0x1p-40), x * (1 - 0x1p-40), x * (1 + 0x1p-24), x * (1 - 0x1p-24)})
        ASSERT_TRUE(this->same(cuda::narrowed<TypeParam>(beside), beside));
  }
  for (const double x : {65519.999999, 65520.0, 0x1.ffp127, std::nextafter(0x1.ffp127, 0.0), 0x1.ffffffp127,
                         1.7e308, 1e-300, 5e-324, 0x1p-134, std::nextafter(0x1p-134, 1.0), infinity, 0.0})
    for (const double y : {x, -x}) ASSERT_TRUE(this->same(cuda::narrowed<TypeParam>(y), y));
}

TYPED_TEST(CudaHalf, FloatsAreRounded) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::uint32_t bits = 0; bits < 65535; ++bits) {
    const double here = this->value(this->code(bits)), next = this->value(this->code(bits + 1));
    for (const auto x : {static_cast<float>(here), static_cast<float>(here / 2 + next / 2)})
      for (const float beside : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity)})
        ASSERT_TRUE(this->same(cuda::narrowed<TypeParam>(beside), beside));
  }
}

// What store() gives if the bits that f64 has no room for are gathered in its last one, which is rounding x
// itself.
template <class T>
double cuda_with_sticky_bit(std::int64_t x) {
  std::uint64_t magnitude = x < 0 ? -static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const int dropped = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 53);
  const bool sticky = (magnitude & ((std::uint64_t{1} << dropped) - 1)) != 0;
  magnitude = (magnitude >> dropped | (sticky ? 1 : 0)) << dropped;
  const auto exact = static_cast<double>(magnitude);
  return x < 0 ? -exact : exact;
}

TYPED_TEST(CudaHalf, IntegersAreRoundedOnce) {
  const auto look = [&](std::int64_t x) {
    return this->same(cuda::narrowed<TypeParam>(x), cuda_with_sticky_bit<TypeParam>(x));
  };
  for (std::int64_t x = -70'000; x <= 70'000; ++x) ASSERT_TRUE(look(x)) << x;
  // Numbers of few bits, at which roundings change, and up to 3 beside them.
  for (int exponent = 7; exponent <= 63; ++exponent)
    for (std::uint64_t significand = 0; significand < 1024; ++significand) {
      const std::uint64_t at = (std::uint64_t{1024} + significand) << exponent >> 10;
      for (const int step : {-3, -2, -1, 0, 1, 2, 3}) {
        const auto x = static_cast<std::int64_t>(at + static_cast<std::uint64_t>(step));
        ASSERT_TRUE(look(x)) << x;
        ASSERT_TRUE(look(static_cast<std::int64_t>(-static_cast<std::uint64_t>(x)))) << x;
      }
    }
  std::mt19937_64 random(7);
  for (int i = 0; i < 300'000; ++i) {
    const auto x = static_cast<std::int64_t>(random()) >> (random() % 64);
    ASSERT_TRUE(look(x)) << x;
  }
  for (const std::int64_t x : {INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1}) ASSERT_TRUE(look(x)) << x;
}

// The odd one of the two neighbours in f32, unless it is exact.
TEST(CudaConversion, RoundsToOdd) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 300'000; ++i) {
    const double x = std::bit_cast<double>(random());
    const float odd = cuda::to_odd(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(odd));
      continue;
    }
    if (static_cast<double>(odd) == x) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(odd) & 1, 1u) << x;
    // x lies between it and one of its neighbours.
    const double below = std::nextafter(odd, -INFINITY), above = std::nextafter(odd, INFINITY);
    ASSERT_TRUE(below < x && x < above) << x;
  }
}

template <class To, class From>
void expect_loaded(const std::vector<double>& values) {
  for (const double x : values) {
    From stored;
    store(&stored, kCudaDtype<From>, x);
    const double read = load(&stored, kCudaDtype<From>);
    To expected;
    store(&expected, kCudaDtype<To>, read);
    const auto got = cuda::load_as<To>(&stored, kCudaDtype<From>, 0);
    ASSERT_EQ(static_cast<double>(got), load(&expected, kCudaDtype<To>))
        << x << " of " << name(kCudaDtype<From>) << " as " << name(kCudaDtype<To>);
    ASSERT_EQ(cuda::load_converted<cuda::Compute<To>>(&stored, kCudaDtype<From>, kCudaDtype<To>, 0), got);
    To back;
    cuda::store_as<cuda::Compute<To>>(&back, kCudaDtype<To>, 0, got);
    ASSERT_EQ(load(&back, kCudaDtype<To>), load(&expected, kCudaDtype<To>));
  }
}

const std::vector<double> kCudaIntegers{0, 1, 2, 3, 5, 17, 100, 127};
const std::vector<double> kCudaReals{0, 1, -1, 0.1, -0.3, 1.0009765, 257.5, 1e-7, 3e4, -6e4, 0.333333333333};

template <class To>
void expect_loaded_from_integers() {
  expect_loaded<To, std::int64_t>(kCudaIntegers);
  expect_loaded<To, std::int32_t>(kCudaIntegers);
  expect_loaded<To, std::int16_t>(kCudaIntegers);
  expect_loaded<To, std::int8_t>(kCudaIntegers);
  expect_loaded<To, std::uint8_t>(kCudaIntegers);
}
template <class To>
void expect_loaded_as_real() {
  expect_loaded_from_integers<To>();
  expect_loaded<To, double>(kCudaReals);
  expect_loaded<To, float>(kCudaReals);
  expect_loaded<To, __half>(kCudaReals);
  expect_loaded<To, __nv_bfloat16>(kCudaReals);
}

TEST(CudaConversion, LoadsEachDtypeAsEach) {
  expect_loaded_as_real<double>();
  expect_loaded_as_real<float>();
  expect_loaded_as_real<__half>();
  expect_loaded_as_real<__nv_bfloat16>();
  expect_loaded_from_integers<std::int64_t>();
  expect_loaded_from_integers<std::int32_t>();
  expect_loaded_from_integers<std::int16_t>();
  expect_loaded_from_integers<std::int8_t>();
  expect_loaded_from_integers<std::uint8_t>();
}

template <class T>
void expect_wrapped(std::int64_t x) {
  T expected;
  store_integer(&expected, kCudaDtype<T>, x);
  ASSERT_EQ(cuda::narrowed<T>(x), expected) << x;
  T stored;
  cuda::store_as<std::int64_t>(&stored, kCudaDtype<T>, 0, x);
  ASSERT_EQ(stored, expected) << x;
  ASSERT_EQ(cuda::load_as<T>(&x, Dtype::i64, 0), load_integer(&expected, kCudaDtype<T>)) << x;
}

TEST(CudaConversion, IntegersWrap) {
  for (const std::int64_t x :
       {INT64_MIN, INT64_MAX, std::int64_t{-1}, std::int64_t{128}, std::int64_t{255}, std::int64_t{256},
        std::int64_t{-129}, std::int64_t{1} << 31, std::int64_t{0xabcdef0123}}) {
    expect_wrapped<std::int64_t>(x);
    expect_wrapped<std::int32_t>(x);
    expect_wrapped<std::int16_t>(x);
    expect_wrapped<std::int8_t>(x);
    expect_wrapped<std::uint8_t>(x);
  }
}

}  // namespace
}  // namespace assay

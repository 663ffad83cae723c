// Conversions between element types, of every level, against cases/vocabulary/dtype.h: all codes, all
// roundings.
#include <bit>
#include <cstdlib>

#include "cpu/features.h"
#include "cpu_support.h"

#define DECLARE(level)                                                                                \
  namespace assay::cpu::level {                                                                       \
  void gather(float* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n);  \
  void gather(double* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n); \
  void scatter(void* to, Dtype type, std::int64_t step, const float* from, std::int64_t n);           \
  void scatter(void* to, Dtype type, std::int64_t step, const double* from, std::int64_t n);          \
  }
DECLARE(N_EMU128)
#ifndef ASSAY_CPU_WITHOUT_AVX2
DECLARE(N_AVX2)
#endif
#ifndef ASSAY_CPU_WITHOUT_AVX512
DECLARE(N_AVX3)
#endif

namespace assay {
namespace {

struct Level {
  const char* name;
  const char* (*lacks)();
  void (*gather32)(float*, const void*, Dtype, std::int64_t, Dtype, std::int64_t);
  void (*gather64)(double*, const void*, Dtype, std::int64_t, Dtype, std::int64_t);
  void (*scatter32)(void*, Dtype, std::int64_t, const float*, std::int64_t);
  void (*scatter64)(void*, Dtype, std::int64_t, const double*, std::int64_t);
};
const Level kLevels[] = {{"baseline", nullptr, cpu::N_EMU128::gather, cpu::N_EMU128::gather,
                          cpu::N_EMU128::scatter, cpu::N_EMU128::scatter},
                         {"avx2", cpu::lacks_avx2, cpu::N_AVX2::gather, cpu::N_AVX2::gather,
                          cpu::N_AVX2::scatter, cpu::N_AVX2::scatter},
                         {"avx512", cpu::lacks_avx512, cpu::N_AVX3::gather, cpu::N_AVX3::gather,
                          cpu::N_AVX3::scatter, cpu::N_AVX3::scatter}};

class Conversion : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (GetParam().lacks != nullptr && GetParam().lacks() != nullptr) GTEST_SKIP() << GetParam().lacks();
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Conversion, testing::ValuesIn(kLevels),
                         [](const auto& i) { return i.param.name; });

template <class T>
bool same(T a, double b) {
  return std::isnan(a) ? std::isnan(b) : static_cast<double>(a) == b && std::signbit(a) == std::signbit(b);
}

TEST_P(Conversion, EveryHalfCodeIsRead) {
  std::vector<std::uint16_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  for (const Dtype type : {Dtype::f16, Dtype::bf16}) {
    std::vector<float> f(codes.size());
    std::vector<double> d(codes.size());
    GetParam().gather32(f.data(), codes.data(), type, 1, Dtype::f32, 65536);
    GetParam().gather64(d.data(), codes.data(), type, 1, Dtype::f64, 65536);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_TRUE(same(f[i], load(&codes[i], type))) << name(type) << " code " << i << ": " << f[i];
      ASSERT_TRUE(same(d[i], load(&codes[i], type))) << name(type) << " code " << i << ": " << d[i];
    }
  }
}

// Where a half format's rounding changes: at each number, halfway to the next, and one f32 beside each.
TEST_P(Conversion, EveryHalfBoundaryIsRounded) {
  for (const Dtype type : {Dtype::f16, Dtype::bf16}) {
    std::vector<float> inputs;
    for (std::uint32_t code = 0; code < 65536; ++code) {
      const auto bits = static_cast<std::uint16_t>(code);
      const auto here = static_cast<float>(load(&bits, type));
      const auto next_bits = static_cast<std::uint16_t>(code + 1);
      const auto next = static_cast<float>(load(&next_bits, type));
      const auto half = static_cast<float>(here / 2 + next / 2);
      for (const float x : {here, half})
        for (const int step : {-1, 0, 1})
          inputs.push_back(
              std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(step)));
    }
    inputs.insert(inputs.end(),
                  {65519.996f, 65520.0f, 65535.0f, 65536.0f, 3.38953139e38f, 3.4028235e38f, 1e-45f});
    std::vector<std::uint16_t> stored(inputs.size());
    std::vector<float> through(inputs.size());
    const auto n = static_cast<std::int64_t>(inputs.size());
    GetParam().scatter32(stored.data(), type, 1, inputs.data(), n);
    GetParam().gather32(through.data(), inputs.data(), Dtype::f32, 1, type, n);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::uint16_t expected = 0;
      store(&expected, type, inputs[i]);
      const double wanted = load(&expected, type);
      ASSERT_TRUE(same(static_cast<float>(load(&stored[i], type)), wanted)) << name(type) << " " << inputs[i];
      ASSERT_TRUE(same(through[i], wanted)) << name(type) << " through " << inputs[i];
    }
  }
}

// Every f32 there is, if the environment says ASSAY_SLOW_TESTS, else every 251st, against an integer
// algorithm of this test (dtype.h would take minutes).
TEST_P(Conversion, FloatsAreRoundedToHalf) {
  const auto reference = [](std::uint32_t bits, int fraction_bits, int bias) -> std::uint16_t {
    const std::uint32_t sign = bits >> 31 << 15;
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    const std::uint32_t infinity = 0x7FFF >> fraction_bits << fraction_bits;
    if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7FFF);
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;  // biased as in the half format
    std::uint64_t significand =
        magnitude >> 23 == 0 ? static_cast<std::uint64_t>(magnitude) << 1 : (magnitude & 0x7FFFFF) | 0x800000;
    int drop = 23 - fraction_bits;
    if (exponent < 1) drop += 1 - exponent;
    if (drop > 40) return static_cast<std::uint16_t>(sign);
    if (magnitude >> 23 == 0 && bias == 127) significand = magnitude, drop = 16;
    const std::uint64_t half = std::uint64_t{1} << (drop - 1), rest = significand & (2 * half - 1);
    std::uint64_t kept = significand >> drop;
    kept += rest > half || (rest == half && (kept & 1) != 0);
    std::uint64_t code =
        exponent < 1 ? kept : kept + (static_cast<std::uint64_t>(exponent - 1) << fraction_bits);
    return static_cast<std::uint16_t>(sign | (code > infinity || exponent > 300 ? infinity : code));
  };
  constexpr std::size_t kChunk = 1 << 16;
  std::vector<std::uint32_t> bits(kChunk);
  std::vector<std::uint16_t> f16(kChunk), bf16(kChunk);
  const std::uint64_t stride = std::getenv("ASSAY_SLOW_TESTS") != nullptr ? 1 : effort(251, 10'007);
  std::uint64_t at = 0;
  while (at < std::uint64_t{1} << 32) {
    for (std::uint32_t& b : bits) {
      b = static_cast<std::uint32_t>(at);
      at += stride;
    }
    const auto* inputs = reinterpret_cast<const float*>(bits.data());
    GetParam().scatter32(f16.data(), Dtype::f16, 1, inputs, kChunk);
    GetParam().scatter32(bf16.data(), Dtype::bf16, 1, inputs, kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) {
      const bool nan = (bits[i] & 0x7FFFFFFF) > 0x7F800000;
      if (nan) {
        ASSERT_TRUE((f16[i] & 0x7FFF) > 0x7C00 && (bf16[i] & 0x7FFF) > 0x7F80) << std::hex << bits[i];
        continue;
      }
      ASSERT_EQ(f16[i], reference(bits[i], 10, 15)) << std::hex << bits[i];
      ASSERT_EQ(bf16[i], reference(bits[i], 7, 127)) << std::hex << bits[i];
    }
  }
}

TEST_P(Conversion, ADoubleIsRoundedOnce) {
  std::vector<double> inputs;
  std::mt19937_64 generator(7);
  for (const Dtype type : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    for (int i = 0; i < 20000; ++i) {
      // Halfway between two numbers of the format, and nearer to halfway than f32 can tell.
      const Format& f = format(type);
      const double x = round_to(std::ldexp(1 + 0x1p-52 * static_cast<double>(generator() >> 12),
                                           static_cast<int>(generator() % 300) - 150),
                                f);
      const double half = x + std::max(std::ldexp(x, -f.precision), f.min_subnormal / 2);
      for (const double y :
           {x, half, std::nextafter(half, 0), std::nextafter(half, 1e308), half * (1 + 0x1p-40)})
        inputs.push_back(generator() % 2 != 0 ? y : -y);
    }
  }
  for (const double special : {0.0, -0.0, 1e300, -1e-320, HUGE_VAL, std::nan("")}) inputs.push_back(special);
  std::vector<float> out(inputs.size());
  for (const Dtype as : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    GetParam().gather32(out.data(), inputs.data(), Dtype::f64, 1, as,
                        static_cast<std::int64_t>(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      ASSERT_TRUE(same(out[i], round_to(inputs[i], format(as))))
          << name(as) << " " << inputs[i] << ": " << out[i];
  }
}

TEST_P(Conversion, StridesAndSizesChangeNothing) {
  for (const Dtype type : test::kFloats) {
    for (const Dtype as : test::kFloats) {
      for (const std::int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 33, 127, 128, 129, 300}) {
        for (const std::int64_t step : {0, 1, 2, 7}) {
          const test::Guard guard = n % 2 == 0 ? test::Guard::before : test::Guard::behind;
          test::Tensor from(type, {n}, {Layout::Kind::strides, {step}}, guard);
          from.fill(test::Edgy(static_cast<unsigned>(n)));
          const Dtype compute = as == Dtype::f64 ? Dtype::f64 : Dtype::f32;
          test::Tensor buffer(compute, {n}, {}, guard);
          if (compute == Dtype::f64)
            GetParam().gather64(buffer.view().as<double>(), from.view().data, type, step, as, n);
          else
            GetParam().gather32(buffer.view().as<float>(), from.view().data, type, step, as, n);
          for (std::int64_t i = 0; i < n; ++i)
            ASSERT_TRUE(same(buffer.get(i), round_to(from.get(i), format(as))))
                << name(type) << " as " << name(as) << " step " << step << ": " << from.get(i) << " "
                << buffer.get(i);
          if (step == 0) continue;
          test::Tensor to(as, {n}, {Layout::Kind::strides, {step}}, guard);
          if (compute == Dtype::f64)
            GetParam().scatter64(to.view().data, as, step, buffer.view().as<double>(), n);
          else
            GetParam().scatter32(to.view().data, as, step, buffer.view().as<float>(), n);
          for (std::int64_t i = 0; i < n; ++i) ASSERT_TRUE(same(to.get(i), buffer.get(i)));
          ASSERT_TRUE(to.gaps_untouched());
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay

// The errors of elementary functions at every level: what the contracts of our kernels state.
//
// f32 over every value of the range where the result is neither 0 nor infinite, against double; f64 over a
// dense sample, against 80-bit long double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "test/cpu_elementary_test.cpp"
#include "cpu/levels.h"

#include "cpu/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

template <bool not_positive, class T>
void exp_of(const T* x, T* y, std::size_t n) {
  const hn::ScalableTag<T> d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    hn::StoreU(exp<not_positive>(d, hn::LoadU(d, x + i)), d, y + i);
}
void exp_f32(const float* x, float* y, std::size_t n, bool not_positive) {
  not_positive ? exp_of<true>(x, y, n) : exp_of<false>(x, y, n);
}
void exp_f64(const double* x, double* y, std::size_t n, bool not_positive) {
  not_positive ? exp_of<true>(x, y, n) : exp_of<false>(x, y, n);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <random>
#include <vector>

namespace assay::cpu {
namespace {

constexpr std::size_t kBlock = 1 << 14;

// The bounds that contracts cite. f64's is an estimate by hand, 1.03, and stands above what the sample shows:
// 0.9941.
constexpr double kExpF32 = 1.0, kExpF64 = 1.1;

struct Level {
  const char* name;
  const char* (*lacks)();
  void (*f32)(const float*, float*, std::size_t, bool);
  void (*f64)(const double*, double*, std::size_t, bool);
};
const Level kLevels[] = {{"baseline", nullptr, N_EMU128::exp_f32, N_EMU128::exp_f64},
                         {"avx2", lacks_avx2, N_AVX2::exp_f32, N_AVX2::exp_f64},
                         {"avx512", lacks_avx512, N_AVX3::exp_f32, N_AVX3::exp_f64}};

std::vector<Level> available() {
  std::vector<Level> levels;
  for (const Level& level : kLevels)
    if (level.lacks == nullptr || level.lacks() == nullptr) levels.push_back(level);
  return levels;
}

// The error of y in units in the last place of a T near `exact`; a subnormal's unit is the smallest number.
template <class T, class Exact>
double ulps(T y, Exact exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int unit = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::fabs(std::ldexp(static_cast<Exact>(y) - exact, -unit)));
}

// Checks a level over blocks of inputs; `exact` holds exp of them.
template <class T, class Exact>
class Worst {
 public:
  Worst(const Level& level, void (*exp)(const T*, T*, std::size_t, bool)) : level_(level), exp_(exp) {}

  void look_at(const std::vector<T>& x, const std::vector<Exact>& exact) {
    std::vector<T> y(x.size()), not_positive(x.size());
    exp_(x.data(), y.data(), x.size(), false);
    exp_(x.data(), not_positive.data(), x.size(), true);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], exact[i]);
      if (error > worst_) worst_ = error, at_ = x[i];
      ASSERT_TRUE(x[i] > 0 || y[i] == not_positive[i]) << level_.name << " " << x[i];
    }
  }
  void expect_at_most(double bound) const {
    std::printf("exp %s %s: at most %.4f ulp, at %a\n", sizeof(T) == 4 ? "f32" : "f64", level_.name, worst_,
                static_cast<double>(at_));
    EXPECT_LE(worst_, bound) << level_.name << " at " << at_;
  }

 private:
  const Level& level_;
  void (*exp_)(const T*, T*, std::size_t, bool);
  double worst_ = 0;
  T at_ = 0;
};

// Sanitizers make a look at every float slow: then a sample.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint32_t kStep = 1009;
#else
constexpr std::uint32_t kStep = 1;
#endif

TEST(CpuElementary, ExpOfFloats) {
  const std::vector<Level> levels = available();
  std::vector<Worst<float, double>> worst;
  for (const Level& level : levels) worst.emplace_back(level, level.f32);
  std::vector<float> x(kBlock);
  std::vector<double> exact(kBlock);
  for (const float sign : {-1.0f, 1.0f}) {
    // Up to where exp leaves f32's range, all bit patterns; below 2^-26 exp rounds to 1 and every 1024th will
    // do.
    const auto end = std::bit_cast<std::uint32_t>(sign < 0 ? 104.1f : 88.7228f);
    std::uint32_t bits = 0;
    while (bits < end) {
      for (std::size_t i = 0; i < kBlock; ++i) {
        x[i] = sign * std::bit_cast<float>(std::min(bits, end));
        exact[i] = std::exp(static_cast<double>(x[i]));
        bits += bits < std::bit_cast<std::uint32_t>(0x1p-26f) ? 1024 : kStep;
      }
      for (auto& w : worst) w.look_at(x, exact);
    }
  }
  for (const auto& w : worst) w.expect_at_most(kExpF32);
}

TEST(CpuElementary, ExpOfDoubles) {
  const std::vector<Level> levels = available();
  std::vector<Worst<double, long double>> worst;
  for (const Level& level : levels) worst.emplace_back(level, level.f64);
  std::vector<double> x(kBlock);
  std::vector<long double> exact(kBlock);
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> range(-745.2, 709.78), octave(-1, 1);
  for (int block = 0; block < 600; ++block) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      x[i] = block % 2 != 0 ? range(generator)
                            : std::ldexp(octave(generator), static_cast<int>(generator() % 40) - 30);
      exact[i] = std::exp(static_cast<long double>(x[i]));
    }
    for (auto& w : worst) w.look_at(x, exact);
  }
  for (const auto& w : worst) w.expect_at_most(kExpF64);
}

template <class T>
void special_values(void (*exp)(const T*, T*, std::size_t, bool)) {
  constexpr T inf = std::numeric_limits<T>::infinity(), max = std::numeric_limits<T>::max();
  const std::vector<std::pair<T, T>> cases{
      {T{0}, T{1}},  {-T{0}, T{1}},   {inf, inf},
      {-inf, T{0}},  {max, inf},      {-max, T{0}},
      {T{800}, inf}, {T{-800}, T{0}}, {std::numeric_limits<T>::denorm_min(), T{1}}};
  for (const bool not_positive : {false, true})
    for (const auto& [x, expected] : cases) {
      if (not_positive && x > 0) continue;
      const std::vector<T> in(16, x);
      std::vector<T> out(16);
      exp(in.data(), out.data(), 16, not_positive);
      for (const T y : out) ASSERT_EQ(y, expected) << x;
    }
  for (const bool not_positive : {false, true}) {
    const std::vector<T> in(16, std::numeric_limits<T>::quiet_NaN());
    std::vector<T> out(16);
    exp(in.data(), out.data(), 16, not_positive);
    for (const T y : out) ASSERT_TRUE(std::isnan(y));
  }
}

TEST(CpuElementary, ExpOfSpecialValues) {
  for (const Level& level : available()) {
    SCOPED_TRACE(level.name);
    special_values(level.f32);
    special_values(level.f64);
  }
}

}  // namespace
}  // namespace assay::cpu
#endif

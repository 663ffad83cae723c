// Functions of two numbers at every level: their errors against double or long double, and special values against the C library.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "test/cpu_pairs_test.cpp"
#include "cpu/levels.h"

#include "cpu/elementary_angles.h"
#include "cpu/elementary_powers.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

#define APPLIED_TO_PAIRS(name)                                                                           \
  template <class T>                                                                                     \
  void pairs_##name(const T* a, const T* b, T* to, std::size_t n) {                                      \
    const hn::ScalableTag<T> d;                                                                          \
    for (std::size_t i = 0; i < n; i += hn::Lanes(d))                                                    \
      hn::StoreU(name(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);                          \
  }                                                                                                      \
  void name##_f32(const float* a, const float* b, float* y, std::size_t n) { pairs_##name(a, b, y, n); } \
  void name##_f64(const double* a, const double* b, double* y, std::size_t n) { pairs_##name(a, b, y, n); }

APPLIED_TO_PAIRS(pow)
APPLIED_TO_PAIRS(atan2)
APPLIED_TO_PAIRS(fmod)

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "test/effort.h"
#include "vocabulary/contract.h"

namespace assay::cpu {
namespace {

template <class T>
using ApplyToPairs = void (*)(const T* a, const T* b, T* y, std::size_t n);

struct PairsLevel {
  const char* name;
  const char* (*lacks)();
  ApplyToPairs<float> f32;
  ApplyToPairs<double> f64;
};

struct TestedPairs {
  const char* name;
  double f32_ulp, f64_ulp;  // as contracts.h states; 0: exact
  double (*exact)(double, double);
  long double (*exact_long)(long double, long double);
  PairsLevel levels[3];
};

double stated(Function f, const char* contract, Dtype dtype) {
  return parse_contract(contract, dtype).accuracy[static_cast<std::size_t>(f)].ulp;
}

#define PAIRS_LEVELS(name)                                              \
  {                                                                     \
    {"baseline", nullptr, N_EMU128::name##_f32, N_EMU128::name##_f64},  \
        {"avx2", lacks_avx2, N_AVX2::name##_f32, N_AVX2::name##_f64}, { \
      "avx512", lacks_avx512, N_AVX3::name##_f32, N_AVX3::name##_f64    \
    }                                                                   \
  }
#define PAIRS(name, f32_ulp, f64_ulp)                                                                       \
  TestedPairs {                                                                                             \
#name, f32_ulp, f64_ulp,                                                                                \
        [](double a,                                                                                        \
           double b) { return std::name(a, b); }, [](long double a,                                         \
                                                     long double b) { return std::name(a, b); },            \
                                                                                              PAIRS_LEVELS( \
                                                                                                  name)     \
  }

const std::vector<TestedPairs>& pairs() {
  static const std::vector<TestedPairs> all{PAIRS(pow, stated(Function::pow, ASSAY_CPU_POW, Dtype::f32),
                                                  stated(Function::pow, ASSAY_CPU_POW, Dtype::f64)),
                                            PAIRS(atan2, stated(Function::atan2, ASSAY_CPU_ATAN2, Dtype::f32),
                                                  stated(Function::atan2, ASSAY_CPU_ATAN2, Dtype::f64)),
                                            PAIRS(fmod, 0, 0)};
  return all;
}

// The error of y in units in the last place of a T.
template <class T, class Exact>
double error_in_ulps(T y, Exact exact) {
  if (std::isnan(exact) || std::isnan(y)) return std::isnan(exact) && std::isnan(y) ? 0 : HUGE_VAL;
  if (static_cast<T>(exact) == y) {
    if (std::signbit(y) != std::signbit(exact)) return HUGE_VAL;
    if (!std::isfinite(y) || y == 0) return 0;
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int unit = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  const Exact stored =
      std::isfinite(y)
          ? static_cast<Exact>(y)
          : std::copysign(std::ldexp(Exact(1), std::numeric_limits<T>::max_exponent), static_cast<Exact>(y));
  return static_cast<double>(std::fabs(std::ldexp(stored - exact, -unit)));
}

template <class T, class Exact>
void look_at_pairs(const TestedPairs& tested, ApplyToPairs<T> apply, double bound) {
  const auto exactly = [&](T x, T y) -> Exact {
    if constexpr (sizeof(T) == 4)
      return tested.exact(static_cast<double>(x), static_cast<double>(y));
    else
      return tested.exact_long(static_cast<long double>(x), static_cast<long double>(y));
  };
  const double special[] = {0,        -0.0,      1,     -1,      0.5,  -0.5,    2,        -2,
                            3,        -3,        1e-40, 7,       1e30, -1e30,   16777217, 1e-30,
                            HUGE_VAL, -HUGE_VAL, NAN,   1.0 / 3, -2.5, 0x1p-149};
  std::vector<T> a, b;
  for (const double x : special)
    for (const double y : special) a.push_back(static_cast<T>(x)), b.push_back(static_cast<T>(y));
  std::mt19937_64 generator(1);
  constexpr int kSample = effort(400'000, 20'000);
  std::uniform_real_distribution<double> near(-4, 4), far(-100, 100);
  for (int i = 0; i < kSample; ++i) {
    const double scale = std::ldexp(1.0, static_cast<int>(generator() % 60) - 30);
    const bool same = generator() % 4 == 0;
    a.push_back(static_cast<T>(same ? near(generator) : std::fabs(near(generator)) * scale));
    b.push_back(static_cast<T>(same                   ? std::trunc(far(generator))
                               : generator() % 2 == 0 ? near(generator)
                                                      : far(generator)));
  }
  a.resize((a.size() + 15) / 16 * 16, T(1)), b.resize(a.size(), T(1));
  std::vector<T> y(a.size());
  apply(a.data(), b.data(), y.data(), a.size());
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const double error = error_in_ulps(y[i], exactly(a[i], b[i])); error > worst) worst = error, at = i;
  std::printf("%-8s %s: at most %.4f ulp, of %a and %a; stated %g\n", tested.name,
              sizeof(T) == 4 ? "f32" : "f64", worst, static_cast<double>(a[at]), static_cast<double>(b[at]),
              bound);
  EXPECT_LE(worst, bound) << tested.name << " of " << a[at] << " and " << b[at] << " is " << y[at];
}

TEST(CpuPairs, ErrAsStated) {
  for (const TestedPairs& tested : pairs())
    for (const PairsLevel& level : tested.levels) {
      if (level.lacks != nullptr && level.lacks() != nullptr) continue;
      SCOPED_TRACE(level.name);
      look_at_pairs<float, double>(tested, level.f32, tested.f32_ulp);
      look_at_pairs<double, long double>(tested, level.f64, tested.f64_ulp);
    }
}

}  // namespace
}  // namespace assay::cpu
#endif

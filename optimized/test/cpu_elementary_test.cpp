// The errors of elementary functions at every level: what the contracts of our kernels state (cpu/contracts.h).
//
// f32 against double, f64 against 80-bit long double. Of the f32 every 61st is looked at, and all that lie
// around the points where code or slope change; with ASSAY_SOAK in the environment (ci/soak) every one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "test/cpu_elementary_test.cpp"
#include "cpu/levels.h"

#include "cpu/elementary_acos.h"
#include "cpu/elementary_angles.h"
#include "cpu/elementary_erf.h"
#include "cpu/elementary_log.h"
#include "cpu/elementary_powers.h"
#include "cpu/elementary_tanh.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

#define APPLIED(name, ...)                                                         \
  template <class T>                                                               \
  void name##_of(const T* from, T* to, std::size_t n) {                            \
    const hn::ScalableTag<T> d;                                                    \
    for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {                            \
      const auto x = hn::LoadU(d, from + i);                                       \
      hn::StoreU(__VA_ARGS__, d, to + i);                                          \
    }                                                                              \
  }                                                                                \
  void name##_f32(const float* x, float* y, std::size_t n) { name##_of(x, y, n); } \
  void name##_f64(const double* x, double* y, std::size_t n) { name##_of(x, y, n); }

APPLIED(exp, exp(d, x))
APPLIED(exp_not_positive, exp<true>(d, x))
APPLIED(expm1, expm1(d, x))
APPLIED(log, log(d, x))
APPLIED(log1p, log1p(d, x))
APPLIED(tanh, tanh(d, x))
APPLIED(erf, erf(d, x))
APPLIED(acos, acos(d, x))
APPLIED(asin, asin(d, x))
APPLIED(sin, sin(d, x))
APPLIED(cos, cos(d, x))
APPLIED(atan, atan(d, x))
APPLIED(exp2, exp2(d, x))
APPLIED(log2, log2(d, x))
APPLIED(log1p_anywhere, log1p_anywhere(d, x))

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "test/effort.h"
#include "vocabulary/contract.h"

namespace assay::cpu {
namespace {

constexpr double kInf = HUGE_VAL;

template <class T>
using Apply = void (*)(const T* x, T* y, std::size_t n);

struct Level {
  const char* name;
  const char* (*lacks)();
  Apply<float> f32;
  Apply<double> f64;
};

struct Range {
  double least, greatest;
};

struct Tested {
  const char* name;
  Function function;
  const char* contract;
  double (*exact)(double);
  long double (*exact_long)(long double);
  std::vector<double> around;  // where the f32 that are near are all looked at
  std::vector<Range> sampled;  // of f64
  Range domain;                // of both
  std::vector<std::pair<double, double>> special;
  Level levels[3];
};

#define LEVELS(name)                                                    \
  {                                                                     \
    {"baseline", nullptr, N_EMU128::name##_f32, N_EMU128::name##_f64},  \
        {"avx2", lacks_avx2, N_AVX2::name##_f32, N_AVX2::name##_f64}, { \
      "avx512", lacks_avx512, N_AVX3::name##_f32, N_AVX3::name##_f64    \
    }                                                                   \
  }

#define FUNCTION(name, function, contract, ...)                                                              \
  Tested {                                                                                                   \
#name, Function::function, contract,                                                                     \
        [](double x) { return std::function(x); }, [](long double x) { return std::function(x); },           \
                                                                                                __VA_ARGS__, \
                                                                                                LEVELS(name) \
  }

using List = std::vector<double>;
using Ranges = std::vector<Range>;
using Special = std::vector<std::pair<double, double>>;

const std::vector<Tested>& functions() {
  static const std::vector<Tested> all{
      FUNCTION(exp, exp, ASSAY_CPU_EXP, List{0, -87.4, -104, 88.8}, Ranges{{-745.2, 709.78}}, {-kInf, kInf},
               Special{{0, 1}, {-0.0, 1}, {kInf, kInf}, {-kInf, 0}, {800, kInf}, {-800, 0}, {0x1p-149, 1}}),
      FUNCTION(exp_not_positive, exp, ASSAY_CPU_EXP, List{0, -87.4, -104}, Ranges{{-745.2, 0}}, {-kInf, 0},
               Special{{0, 1}, {-0.0, 1}, {-kInf, 0}, {-800, 0}}),
      FUNCTION(expm1, expm1, ASSAY_CPU_EXPM1, List{0, 0.34657, -0.34657, 1.04, -1.04, -17, 88.8},
               Ranges{{-40, 40}, {-1.1, 1.1}, {-745, 709.78}}, {-kInf, kInf},
               Special{{0, 0},
                       {-0.0, -0.0},
                       {kInf, kInf},
                       {-kInf, -1},
                       {800, kInf},
                       {-800, -1},
                       {0x1p-149, 0x1p-149}}),
      FUNCTION(log, log, ASSAY_CPU_LOG, List{1, 0.70710678, 1.41421356, 2, 0.5, 0x1p-126},
               Ranges{{0.5, 2}, {0.99, 1.01}, {0, 1e300}}, {0, kInf},
               Special{{1, 0}, {0, -kInf}, {-0.0, -kInf}, {kInf, kInf}}),
      FUNCTION(log1p, log1p, ASSAY_CPU_LOG1P, List{0, 0.41421356, 1, 1.8284271},
               Ranges{{0, 2}, {0, 0.01}, {0, 1e9}}, {0, kInf},
               Special{{0, 0}, {kInf, kInf}, {0x1p-149, 0x1p-149}}),
      FUNCTION(
          tanh, tanh, ASSAY_CPU_TANH, List{0, 0.1732868, 0.5198604, 0.8664340, 9}, Ranges{{-20, 20}, {-1, 1}},
          {-kInf, kInf},
          Special{{0, 0}, {-0.0, -0.0}, {kInf, 1}, {-kInf, -1}, {100, 1}, {-100, -1}, {0x1p-149, 0x1p-149}}),
      FUNCTION(erf, erf, ASSAY_CPU_ERF, List{0, 0.9375, -0.9375, 1.25, 3.9}, Ranges{{-6, 6}, {-1.5, 1.5}},
               {-kInf, kInf}, Special{{0, 0}, {-0.0, -0.0}, {kInf, 1}, {-kInf, -1}, {10, 1}, {-10, -1}}),
      FUNCTION(acos, acos, ASSAY_CPU_ACOS, List{0.5, -0.5, 1, -1, 0}, Ranges{{-1, 1}, {0.99, 1}}, {-1, 1},
               Special{{1, 0}}),
      FUNCTION(asin, asin, ASSAY_CPU_ASIN, List{0.5, -0.5, 1, -1, 0}, Ranges{{-1, 1}, {0.99, 1}, {0.4, 0.6}},
               {-1, 1}, Special{{0, 0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}}),
      // Beyond 2^20 the C library is asked.
      FUNCTION(sin, sin, ASSAY_CPU_SIN, List{0, 0.78539816, 3.14159265, 6.28318531, 1048576, 1e10},
               Ranges{{-7, 7}, {3.14159, 3.1416}, {-1048576, 1048576}, {1e6, 1e15}}, {-1e300, 1e300},
               Special{{0, 0}, {-0.0, -0.0}, {0x1p-149, 0x1p-149}, {kInf, NAN}, {-kInf, NAN}}),
      FUNCTION(cos, cos, ASSAY_CPU_COS, List{0, 0.78539816, 1.57079633, 4.71238898, 1048576, 1e10},
               Ranges{{-7, 7}, {1.57079, 1.5708}, {-1048576, 1048576}, {1e6, 1e15}}, {-1e300, 1e300},
               Special{{0, 1}, {-0.0, 1}, {kInf, NAN}, {-kInf, NAN}}),
      FUNCTION(atan, atan, ASSAY_CPU_ATAN, List{0, 0.41421356, 2.41421356, -1},
               Ranges{{-1, 1}, {0.41, 0.45}, {-10, 10}, {0, 1e9}}, {-kInf, kInf},
               Special{{0, 0}, {-0.0, -0.0}, {kInf, 1.5707963267948966}, {-kInf, -1.5707963267948966}}),
      FUNCTION(exp2, exp2, ASSAY_CPU_EXP2, List{0, 0.5, -0.5, -126, -149, 127.9},
               Ranges{{-1074, 1023.9}, {-1, 1}}, {-kInf, kInf},
               Special{{0, 1},
                       {-0.0, 1},
                       {3, 8},
                       {-149, 0x1p-149},
                       {kInf, kInf},
                       {-kInf, 0},
                       {2000, kInf},
                       {-2000, 0}}),
      FUNCTION(log2, log2, ASSAY_CPU_LOG2, List{1, 0.70710678, 1.41421356, 2, 0.5, 0x1p-126},
               Ranges{{0.5, 2}, {0.99, 1.01}, {0, 1e300}}, {0, kInf},
               Special{{1, 0}, {8, 3}, {0x1p-149, -149}, {0, -kInf}, {-0.0, -kInf}, {kInf, kInf}, {-1, NAN}}),
      FUNCTION(log1p_anywhere, log1p, ASSAY_CPU_LOG1P, List{0, -0.29289322, 0.41421356, 1, -0.5, -0.99999994},
               Ranges{{-1, 2}, {-0.01, 0.01}, {0, 1e9}}, {-1, kInf},
               Special{{0, 0},
                       {-0.0, -0.0},
                       {-1, -kInf},
                       {-2, NAN},
                       {-kInf, NAN},
                       {kInf, kInf},
                       {0x1p-149, 0x1p-149}}),
  };
  return all;
}

constexpr std::size_t kBlock = 1 << 14;

// The error of y in units in the last place of a T near `exact`; a subnormal's unit is the smallest number.
template <class T, class Exact>
double ulps(T y, Exact exact) {
  if (!std::isfinite(y) || std::isnan(exact)) {
    if (std::isnan(y) == std::isnan(exact) && (std::isnan(y) || static_cast<T>(exact) == y)) return 0;
    if (std::isnan(y) || std::isnan(exact)) return kInf;
    y = std::copysign(std::numeric_limits<T>::max(), y);  // infinity beside a large number: near the next one
  }
  if (static_cast<T>(exact) == y) {
    if (!std::isfinite(y)) return 0;
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int unit = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::fabs(std::ldexp(static_cast<Exact>(y) - exact, -unit)));
}

// The largest error of every level that this machine has, over blocks of inputs.
template <class T, class Exact>
class Worst {
 public:
  explicit Worst(const Tested& tested) : tested_(tested) {
    for (const Level& level : tested.levels)
      if (level.lacks == nullptr || level.lacks() == nullptr) rows_.push_back({&level, 0, T{}});
  }

  void look_at(T x) {
    if (!(x >= static_cast<T>(tested_.domain.least) && x <= static_cast<T>(tested_.domain.greatest))) return;
    x_.push_back(x);
    if (x_.size() == kBlock) flush();
  }

  void expect_at_most_as_stated() {
    x_.resize((x_.size() + 15) / 16 * 16, T{});
    flush();
    const Dtype dtype = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;
    const double bound =
        parse_contract(tested_.contract, dtype).accuracy[static_cast<std::size_t>(tested_.function)].ulp;
    for (const Row& row : rows_) {
      std::printf("%-16s %s %-8s: at most %.4f ulp, at %a; stated %g\n", tested_.name,
                  std::string(assay::name(dtype)).c_str(), row.level->name, row.worst,
                  static_cast<double>(row.at), bound);
      EXPECT_LE(row.worst, bound) << tested_.name << " " << row.level->name << " at " << row.at;
    }
  }

 private:
  struct Row {
    const Level* level;
    double worst;
    T at;
  };

  void flush() {
    std::vector<Exact> exact(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if constexpr (sizeof(T) == 4)
        exact[i] = tested_.exact(static_cast<double>(x_[i]));
      else
        exact[i] = tested_.exact_long(static_cast<long double>(x_[i]));
    }
    std::vector<T> y(x_.size());
    for (Row& row : rows_) {
      if constexpr (sizeof(T) == 4)
        row.level->f32(x_.data(), y.data(), x_.size());
      else
        row.level->f64(x_.data(), y.data(), x_.size());
      for (std::size_t i = 0; i < x_.size(); ++i) {
        const double error = ulps(y[i], exact[i]);
        if (error > row.worst) row.worst = error, row.at = x_[i];
      }
    }
    x_.clear();
  }

  const Tested& tested_;
  std::vector<Row> rows_;
  std::vector<T> x_;
};

// Sanitizers make a look at many floats slow: then a smaller sample.
constexpr std::uint32_t kStep = effort(61u, 10007u);

class CpuElementary : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Tested& tested() const { return functions()[GetParam()]; }
  void sweep(std::uint32_t step) const {
    Worst<float, double> worst(tested());
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += step)
      worst.look_at(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (step > 1)
      for (const double point : tested().around) {
        const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>(point));
        for (std::uint32_t k = 0; k < 20'000'000 / step; ++k) {
          worst.look_at(std::bit_cast<float>(middle + k));
          worst.look_at(std::bit_cast<float>(middle - k));
        }
      }
    worst.expect_at_most_as_stated();
  }
};

TEST_P(CpuElementary, OfFloats) { sweep(std::getenv("ASSAY_SOAK") != nullptr ? 1 : kStep); }

TEST_P(CpuElementary, OfDoubles) {
  Worst<double, long double> worst(tested());
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> octave(-2, 2);
  constexpr int kSample = kStep > 1000 ? 100'000 : 4'000'000;
  for (const Range& range : tested().sampled) {
    std::uniform_real_distribution<double> uniform(range.least, range.greatest);
    for (int i = 0; i < kSample; ++i) worst.look_at(uniform(generator));
  }
  for (int i = 0; i < kSample; ++i)
    worst.look_at(std::ldexp(octave(generator), static_cast<int>(generator() % 40) - 30));
  worst.expect_at_most_as_stated();
}

template <class T>
void look_at_special_values(const Tested& tested, Apply<T> apply) {
  const auto of = [&](double x) {
    const std::vector<T> in(16, static_cast<T>(x));
    std::vector<T> out(16);
    apply(in.data(), out.data(), 16);
    for (const T y : out) EXPECT_TRUE(y == out[0] || std::isnan(y));
    return out[0];
  };
  for (const auto& [x, expected] : tested.special) {
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(of(x)) : of(x) == static_cast<T>(expected))
        << x << " " << of(x);
    EXPECT_TRUE(std::isnan(expected) || std::signbit(of(x)) == std::signbit(expected)) << x;
  }
  EXPECT_TRUE(std::isnan(of(NAN)));
  if (tested.function == Function::log || tested.function == Function::acos ||
      tested.function == Function::asin) {
    EXPECT_TRUE(std::isnan(of(-1.5)));
    EXPECT_TRUE(std::isnan(of(-kInf)));
  }
}

TEST_P(CpuElementary, OfSpecialValues) {
  for (const Level& level : tested().levels) {
    if (level.lacks != nullptr && level.lacks() != nullptr) continue;
    SCOPED_TRACE(level.name);
    look_at_special_values(tested(), level.f32);
    look_at_special_values(tested(), level.f64);
  }
}

std::string name_of(const ::testing::TestParamInfo<std::size_t>& i) { return functions()[i.param].name; }
INSTANTIATE_TEST_SUITE_P(Functions, CpuElementary, ::testing::Range(std::size_t{0}, functions().size()),
                         name_of);

}  // namespace
}  // namespace assay::cpu
#endif

// Soundness of the rules that no enrolled operator uses yet: formulas of later operators, read by Tracked and by the
// adversary without an operator around them. And the test of that test: the adversary must break a Tracked that
// believes in a better arithmetic than the kernel has.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>

#include "arithmetic_of_test.h"

namespace assay {

// Each is a formula over n numbers and one parameter. They stand in the namespace of the functions they use.
namespace formulas {

#define FORMULA(name, ...)                                                                             \
  struct name {                                                                                        \
    static constexpr const char* text = #name;                                                         \
    template <class S>                                                                                 \
    S operator()(const std::vector<S>& x, const S& p) const {                                          \
      [[maybe_unused]] const auto n = static_cast<std::int64_t>(x.size());                             \
      [[maybe_unused]] const auto at = [&](std::int64_t k) { return x[static_cast<std::size_t>(k)]; }; \
      [[maybe_unused]] const S& a = x[0];                                                              \
      [[maybe_unused]] const S& b = x[1];                                                              \
      (void)p;                                                                                         \
      __VA_ARGS__                                                                                      \
    }                                                                                                  \
  };

FORMULA(Sum, return sum<S>(n, at);)
FORMULA(Mean, return sum<S>(n, at) / S(n);)
FORMULA(SumOfSquares, return sum<S>(n, [&](std::int64_t k) { return at(k) * at(k); });)
FORMULA(Norm, return sqrt(sum<S>(n, [&](std::int64_t k) { return at(k) * at(k); }));)
FORMULA(ScaledSum, return p * sum<S>(n, at) + a;)
FORMULA(Sigmoid, return S(1) / (S(1) + exp(-a));)
FORMULA(Silu, return a / (S(1) + exp(-a));)
FORMULA(GeluErf, return S(0.5) * a * (S(1) + erf(a * S(0.70710678118654752440)));)
FORMULA(GeluTanh,
        return S(0.5) * a * (S(1) + tanh(S(0.79788456080286535588) * (a + S(0.044715) * a * a * a)));)
FORMULA(LogSumExp, S m = a; for (std::int64_t k = 1; k < n; ++k) m = maximum(m, at(k));
        return m + log(sum<S>(n, [&](std::int64_t k) { return exp(at(k) - m); }));)
FORMULA(Variance, const S mean = sum<S>(n, at) / S(n); return sum<S>(n,
                                                                     [&](std::int64_t k) {
                                                                       const S d = at(k) - mean;
                                                                       return d * d;
                                                                     }) /
                                                              S(n);)
FORMULA(LayerNorm, const S mean = sum<S>(n, at) / S(n); const S v = sum<S>(n,
                                                                           [&](std::int64_t k) {
                                                                             const S d = at(k) - mean;
                                                                             return d * d;
                                                                           }) /
                                                                    S(n);
        return (a - mean) / sqrt(v + S(1e-5)) * p + b;)
FORMULA(BatchNorm, return (a - b) / sqrt(abs(p) + S(1e-3));)
FORMULA(FoldedBatchNorm, const S alpha = p / sqrt(a * a + S(1e-3)); return b * alpha + (p - a * alpha);)
FORMULA(Softplus, return log1p(exp(a));)
FORMULA(Elu, return select(a > S(0), a, p* expm1(a));)
FORMULA(Clamp, return minimum(maximum(a, -abs(p)), abs(p));)
FORMULA(AbsoluteDifference, return abs(a - b);)
FORMULA(SumOfAbsolutes, return sum<S>(n, [&](std::int64_t k) { return abs(at(k) - a); });)
FORMULA(Branch, const S d = a * b - p; return select(d < S(0), d* p, d + a);)
FORMULA(BothBranches, const S d = sum<S>(n, at); return select(d > S(0) && a <= b, d, -d);)
FORMULA(Powers, return pow(abs(a) + S(0.5), p);)
FORMULA(Circle, return sin(a) * cos(b);)
FORMULA(Inverses, return atan(a) + asin(tanh(b)) - acos(tanh(a));)
FORMULA(Logarithms, return log2(S(1) + exp2(a)) * log(S(2) + abs(b));)
FORMULA(Converted, return cast<S>(a * b, Dtype::bf16) + p;)
FORMULA(Quotients, return (a + b) / (abs(p) + S(1)) / S(3);)
FORMULA(Polynomial, return ((p * a + S(0.3)) * a + S(0.7)) * a + S(0.1);)
FORMULA(Cancellation, return (a + b) * (a - b) - a * a;)
FORMULA(Halved, return S(0.5) * a * S(8);)
FORMULA(WithZero, return a + b * S(0);)
FORMULA(SumOfOne, return sum<S>(1, at) * S(3);)
FORMULA(TinyLiteral, return S(1e-40) * a * S(1e30);)
FORMULA(Spread, const S d = a - b; return maximum(d, a) + minimum(d, b) + select(d * d > p, a, b);)
FORMULA(Negated, return p + -(a - b);)
FORMULA(Interpolated, const S at_x = maximum(abs(a) * p, S(0));
        return by_floor<S>(at_x, n, [&](std::int64_t k) {
          const S l = minimum(maximum(at_x - S(k), S(0)), S(1));
          return (S(1) - l) * at(k) + l * at(std::min(k + 1, n - 1));
        });)
FORMULA(SignedZero, return select(is_nan(a), a, a* S(0)) + b * S(0);)

using All = std::tuple<Sum, Mean, SumOfSquares, Norm, ScaledSum, Sigmoid, Silu, GeluErf, GeluTanh, LogSumExp,
                       Variance, LayerNorm, BatchNorm, FoldedBatchNorm, Softplus, Elu, Clamp,
                       AbsoluteDifference, SumOfAbsolutes, Branch, BothBranches, Powers, Circle, Inverses,
                       Logarithms, Converted, Quotients, Polynomial, Cancellation, Halved, WithZero, SumOfOne,
                       TinyLiteral, Spread, Negated, Interpolated, SignedZero>;

}  // namespace formulas

namespace testing {
namespace {

struct Data {
  std::vector<double> x;
  double p = 0;
};

Data draw(std::mt19937_64& random, const Format& f) {
  std::normal_distribution<double> normal;
  const auto family = random() % 12;
  const auto number = [&] {
    const double z = normal(random);
    switch (family) {
      case 0:
        return std::nearbyint(3 * z);
      case 1:
        return std::fabs(z) + 0.1;
      case 2:
        return 100 + z;
      case 3:
        return z * std::ldexp(1.0, static_cast<int>(random() % 60) - 30);
      case 4:
        return z * f.min_normal * 4;
      case 5:
        return z * std::sqrt(f.max);
      case 7:
        return z * f.max / 2;
      case 6:
        return random() % 4 == 0 ? 0 : -std::fabs(z) * 1e-3;
      case 8:
        return std::nearbyint(20 * z);
      case 9:
        return std::nearbyint(9 * z) * f.min_subnormal;
      default:
        return z;
    }
  };
  Data d;
  const std::size_t most = random() % 3 == 0 ? 30 : 3;
  const std::size_t n = 2 + random() % most;
  for (std::size_t k = 0; k < n; ++k) d.x.push_back(round_to(number(), f));
  const double parameters[] = {1, 0.1, -0.3, 2, 1e-5, 7};
  d.p = parameters[random() % std::size(parameters)];
  return d;
}

template <class S, class F>
S evaluate(const F& formula, const Data& d) {
  if constexpr (requires { ScalarOps<S>::begin(0, 0); }) ScalarOps<S>::begin(0, 0);
  std::vector<S> x;
  for (const double e : d.x) x.push_back(ScalarOps<S>::input(e));
  return formula(x, param<S>(d.p));
}

struct Tally {
  long elements = 0, undecidable = 0;
  long escapes = 0;  // elements of which some result lies outside
  double worst = 0;
  std::string first;
};

// The interval by the errors that numbers share: scalars/adjoint.md.
template <class F>
Interval by_equations(const F& formula, const Data& d) {
  Tape tape;
  const TapeScope scope(&tape);
  Tracked<double> x = evaluate<Tracked<double>>(formula, d);
  Tracked<double>* const result = &x;
  tape.sharpen({&result, 1});
  return finish(x);
}

// Results that either has not are none of this one.
void narrow(Interval& i, const Interval& other) {
  i.lower = std::max(i.lower, other.lower);
  i.upper = std::min(i.upper, other.upper);
  i.nan = i.nan && other.nan;
  i.positive_infinity = i.positive_infinity && other.positive_infinity;
  i.negative_infinity = i.negative_infinity && other.negative_infinity;
}

// `believed` is what Tracked is told, `real` what the kernel does.
template <class V, class F>
void attack(const F& formula, const Arithmetic& believed, const Arithmetic& real, int calls, Tally& tally) {
  std::mt19937_64 random(7);
  for (int call = 0; call < calls; ++call) {
    const Data d = draw(random, real.result.format);
    Interval interval;
    {
      const Under under(believed);
      interval = finish(evaluate<Tracked<V>>(formula, d));
      if constexpr (std::is_same_v<V, double>) narrow(interval, by_equations(formula, d));
    }
    const Under under(real);
    ++tally.elements;
    tally.undecidable += interval.undecidable();
    bool escaped = false;
    for (int k = 0; k < 20; ++k) {
      attack_state().attack = {static_cast<Attack::Rounding>(k % 5), k % 2 == 0, k % 4 < 2, random()};
      const double result = stored(evaluate<Adversary<V>>(formula, d));
      if (!interval.contains(result)) {
        if (!escaped && tally.escapes++ == 0) {
          char text[300];
          std::snprintf(
              text, sizeof text,
              "%s: %.17g outside [%.17g, %.17g] around %.17g, rounding %d, x0 %.17g x1 %.17g p %g n %zu",
              F::text, result, interval.lower, interval.upper, interval.value, k % 5, d.x[0], d.x[1], d.p,
              d.x.size());
          tally.first = text;
        }
        escaped = true;
        continue;
      }
      const double ratio = interval.error_over_bound(result);
      if (std::isfinite(ratio) && interval.lower < interval.upper) tally.worst = std::max(tally.worst, ratio);
    }
  }
}

template <class V>
Tally attack_all(const Arithmetic& believed, const Arithmetic& real, int calls, bool print = false) {
  Tally total;
  std::apply(
      [&](const auto&... formula) {
        const auto one = [&](const auto& f) {
          Tally t;
          attack<V>(f, believed, real, calls, t);
          if (print)
            std::printf("%-18s worst |error|/bound %.4f, undecidable %.1f%%\n", f.text, t.worst,
                        100.0 * static_cast<double>(t.undecidable) / static_cast<double>(t.elements));
          total.elements += t.elements;
          total.escapes += t.escapes;
          if (total.first.empty()) total.first = t.first;
        };
        (one(formula), ...);
      },
      formulas::All{});
  return total;
}

class Formulas : public ::testing::TestWithParam<std::pair<Dtype, const char*>> {};

TEST_P(Formulas, NoAttackEscapes) {
  const auto [dtype, contract] = GetParam();
  const Arithmetic a(Under::parse(contract, dtype), dtype);
  const bool strict = std::string_view(contract).empty();
  const Tally t = a.double_suffices()
                      ? attack_all<double>(a, a, strict ? 2000 : 400, strict && dtype == Dtype::f32)
                      : attack_all<Real>(a, a, 60);
  EXPECT_EQ(t.escapes, 0) << t.first;
}

constexpr std::pair<Dtype, const char*> kArithmetics[] = {
    {Dtype::f32, ""},
    {Dtype::f16, ""},
    {Dtype::bf16, ""},
    {Dtype::f64, ""},
    {Dtype::f16, "compute=f16"},
    {Dtype::bf16, "compute=bf16"},
    {Dtype::f32, "compute=bf16"},
    {Dtype::f64, "compute=f32"},
    {Dtype::f32, "compute=f16"},
    {Dtype::f32, "accumulate=f16"},
    {Dtype::f32, "accumulate=f64"},
    {Dtype::f32, "multiply=bf16"},
    {Dtype::f16, "multiply=bf16 compute=f16"},
    {Dtype::f32, "store=faithful"},
    {Dtype::f32, "chain=blocked(3)"},
    {Dtype::f32, "chain=pairwise(2)"},
    {Dtype::f32, "exp=1ulp log=2ulp tanh=3ulp erf=4e-7abs sin=1ulp cos=1ulp pow=2ulp div=1.5 sqrt=1"},
    {Dtype::f32, "expm1=1ulp log1p=1ulp exp2=1ulp log2=1ulp atan=1ulp asin=2ulp acos=1ulp+1e-7abs"},
    {Dtype::f32, "ftz=yes"},
    {Dtype::f32, "daz=yes"},
    {Dtype::f32, "ftz=yes daz=yes tiny=1e-30 exp=2ulp"},
    {Dtype::bf16, "compute=bf16 ftz=yes daz=yes"},
    {Dtype::f32, "compute=f16 daz=yes"},
    {Dtype::f32, "accumulate=f16 ftz=yes"},
    {Dtype::f32, "daz=yes exp=2ulp expm1=1ulp erf=1ulp"},
    {Dtype::f64, "ftz=yes daz=yes exp=1ulp div=1"},
    {Dtype::f32, "signed_zero=ignore"},
};
INSTANTIATE_TEST_SUITE_P(Arithmetics, Formulas, ::testing::ValuesIn(kArithmetics));

// ---- The adversary must break a Tracked that is wrong ---------------------------------------------------------------

struct Fault {
  const char* name;
  Dtype dtype;
  const char* contract;
  void (*plant)(Arithmetic&);
};

constexpr Fault kFaults[] = {
    {"half_the_unit", Dtype::f32, "",
     [](Arithmetic& a) {
       a.compute.format.unit /= 2;
       a.stores_compute = false;
     }},
    {"unit_a_tenth_too_small", Dtype::f32, "compute=bf16",
     [](Arithmetic& a) {
       a.compute.format.unit *= 0.9;
       a.accumulate.format.unit *= 0.9;
     }},
    {"half_the_accumulators_unit", Dtype::f32, "accumulate=bf16",
     [](Arithmetic& a) { a.accumulate.format.unit /= 2; }},
    {"no_accumulator_at_all", Dtype::f32, "accumulate=bf16",
     [](Arithmetic& a) {
       a.accumulate = a.compute;
       a.accumulates_narrower = false;
       a.accumulates_in_compute = true;
     }},
    {"accumulator_entered_without_rounding", Dtype::f32, "accumulate=bf16",
     [](Arithmetic& a) { a.accumulates_narrower = false; }},
    {"operands_not_rounded", Dtype::f32, "multiply=bf16", [](Arithmetic& a) { a.rounds_operands = false; }},
    {"shorter_chain", Dtype::f32, "",
     [](Arithmetic& a) {
       a.chain = {Chain::Kind::pairwise, 2};
     }},
    {"no_underflow", Dtype::f16, "compute=f16", [](Arithmetic& a) { a.compute.half_subnormal = 0; }},
    {"exact_below_the_least_subnormal", Dtype::f16, "compute=f16",
     [](Arithmetic& a) { a.compute.grid -= 1; }},
    {"one_bit_more_is_exact", Dtype::f32, "compute=bf16",
     [](Arithmetic& a) { a.compute.format.precision += 1; }},
    {"one_bit_more_is_an_exact_sum", Dtype::f32, "accumulate=bf16",
     [](Arithmetic& a) { a.accumulate.format.precision += 1; }},
    {"no_overflow", Dtype::f32, "",
     [](Arithmetic& a) {
       a.compute.overflow *= 1e6L;
       a.accumulate.overflow *= 1e6L;
     }},
    {"overflow_on_the_way_forgotten", Dtype::f32, "accumulate=bf16",
     [](Arithmetic& a) { a.accumulate.overflow *= 1e6L; }},
    {"half_the_ulps", Dtype::f32, "exp=2ulp", [](Arithmetic& a) { a.accuracy[0].ulp /= 2; }},
    {"no_absolute_error", Dtype::f32, "erf=1e-4abs", [](Arithmetic& a) { a.accuracy[3].absolute = 0; }},
    {"correctly_rounded_division", Dtype::f32, "div=2", [](Arithmetic& a) { a.div_extra = 0; }},
    {"correctly_rounded_root", Dtype::f32, "sqrt=2", [](Arithmetic& a) { a.sqrt_extra = 0; }},
    {"no_flush", Dtype::f32, "ftz=yes", [](Arithmetic& a) { a.ftz = a.flushes = false; }},
    {"inputs_not_flushed", Dtype::f32, "daz=yes", [](Arithmetic& a) { a.daz = a.flushes = false; }},
    {"tiny_results_kept", Dtype::f32, "ftz=yes tiny=1e-3", [](Arithmetic& a) { a.tiny = 0; }},
    {"nearest_store", Dtype::f32, "store=faithful", [](Arithmetic& a) { a.faithful_store = false; }},
};

class PlantedFault : public ::testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsCaught) {
  const Fault& fault = GetParam();
  const Arithmetic real(Under::parse(fault.contract, fault.dtype), fault.dtype);
  Arithmetic believed = real;
  fault.plant(believed);
  const Tally t = attack_all<double>(believed, real, 400);
  std::printf("%ld of %ld calls\n", t.escapes, t.elements);
  // The order in which random numbers are drawn is the compiler's: what few calls find, another build may not.
  EXPECT_GE(t.escapes, 8) << "a Tracked that is told this is not found out";
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedFault, ::testing::ValuesIn(kFaults),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace testing
}  // namespace assay

// Functions of a number with a small error: the bound from the slope at one point, against the function itself at both
// ends in 191 bits. Neither less than what the function does there, nor more than a millionth above.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "arithmetic_of_test.h"

namespace assay::testing {
namespace {

struct Case {
  const char* name;
  Function function;
  Real (*exactly)(const Real&);
  std::vector<double> at;  // tails and ends of the domain included
};

const std::vector<Case>& cases() {
  static const std::vector<double> all{0,   1e-300, -1e-300, 1e-20, -1e-9, 1e-3, 0.1, -0.3, 0.5,  -1,
                                       1.7, 2,      -3,      5,     -8,    13,   20,  -30,  44.4, -100};
  static const std::vector<double> large{300, -300, 700, -700};
  static const std::vector<double> positive{1e-300, 1e-30, 1e-5, 0.01, 0.3,  0.999, 1,
                                            1.001,  2,     17,   1e5,  1e30, 1e300};
  static const std::vector<double> above_minus_one{-0.999999, -0.9, -0.3, -1e-9, 1e-300, 0,
                                                   1e-9,      0.4,  1,    30,    1e9,    1e300};
  static const std::vector<double> within_one{-0.9999999, -0.99, -0.5, -1e-9, 0,
                                              1e-300,     0.1,   0.7,  0.9,   0.999999};
  static const auto joined = [](std::vector<double> a, const std::vector<double>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  static const std::vector<Case> list{{"exp", Function::exp, &exp, joined(all, large)},
                                      {"exp2", Function::exp2, &exp2, joined(all, large)},
                                      {"expm1", Function::expm1, &expm1, joined(all, large)},
                                      {"tanh", Function::tanh, &tanh, joined(all, large)},
                                      {"erf", Function::erf, &erf, joined(all, {6, -11, 26, 27})},
                                      {"atan", Function::atan, &atan, joined(all, {1e5, -1e9})},
                                      {"log", Function::log, &log, positive},
                                      {"log2", Function::log2, &log2, positive},
                                      {"log1p", Function::log1p, &log1p, above_minus_one},
                                      {"asin", Function::asin, &asin, within_one},
                                      {"acos", Function::acos, &acos, within_one}};
  return list;
}

// What the function moves by between x and x +- reach, with the reference's own errors on top.
template <class V>
struct Truth {
  Real least;  // no sound bound is below this
  Real most;   // and one that evaluates at three points is not far below this
};

template <class V>
Truth<V> truth(const std::function<Real(const Real&)>& f, const Real& x, const Real& reach) {
  const Real y = f(x);
  const Real up = abs(f(x + reach) - y), down = abs(f(x - reach) - y);
  const Real spread = up < down ? down : up;
  const Real own = (abs(y) + spread) * Real(0x1p-198);  // of this computation
  const Real reference = abs(y) * Real(Carrier<V>::kUnit) * Real(8);
  return {spread - own, (spread + own) * (Real(1) + Real(0x1p-18)) + reference * Real(3) +
                            Real(Carrier<V>::kLeast) * Real(4)};
}

template <class V>
void compare(Dtype dtype) {
  const Under under(dtype);
  long near = 0;
  for (const Case& c : cases())
    for (const double x : c.at)
      for (const double reach : {0x1p-52, 0x1p-40, 0x1p-30, 0x1p-24, 0x1p-21, 1e-300})
        for (const bool relative : {false, true}) {
          const double error = relative ? reach * std::fabs(x) : reach;
          // What 191 bits can show, and doubles hold.
          if (error < 1e-305 || error < std::fabs(x) * 0x1p-140 || std::fabs(x) >= 1e290) continue;
          Tracked<V> t = Tracked<V>::exact(V(x));
          t.error = error;
          t.grid = kNoGrid;
          const Tracked<V> y = elementary(c.function, t);
          if (y.error == std::numeric_limits<typename Tracked<V>::Bound>::infinity())
            continue;  // leaves the domain
          // The number itself is only known to some units of the carrier.
          const Real own = abs(Real(x)) * Real(Carrier<V>::kUnit);
          const Truth<V> narrow = truth<V>(c.exactly, Real(x), Real(error));
          const Truth<V> wide = truth<V>(c.exactly, Real(x), Real(error) * Real(1 + 0x1p-47) + own * Real(2));
          ASSERT_TRUE(narrow.least <= Real(y.error)) << c.name << " " << x << " +- " << error;
          ASSERT_TRUE(Real(y.error) <= wide.most)
              << c.name << " " << x << " +- " << error << ": " << static_cast<double>(y.error) << " above "
              << static_cast<double>(wide.most);
          ++near;
        }
  std::printf("%ld sets\n", near);
  EXPECT_GT(near, 1000);
}

TEST(TrackedSlope, IsThatOfTheFunctionInDouble) { compare<double>(Dtype::f32); }
TEST(TrackedSlope, IsThatOfTheFunctionIn191Bits) { compare<Real>(Dtype::f64); }

TEST(TrackedSlope, OfSinesIsFirstAndSecondOrder) {
  const Under under(Dtype::f64);
  using W = Tracked<Real>;
  for (const double x : {0.0, 0.3, 1.5707963267948966, 3.0, -7.7, 1e6})
    for (const double reach : {0x1p-50, 1e-6, 0.1, 1.0, 9.0}) {
      W t = W::exact(Real(x));
      t.error = reach;
      t.grid = kNoGrid;
      for (const Function f : {Function::sin, Function::cos}) {
        const auto exactly = [f](const Real& at) { return f == Function::sin ? sin(at) : cos(at); };
        const Real y = exactly(Real(x));
        const long double error = elementary(f, t).error;
        for (double k = -1; k <= 1; k += 0x1p-6)
          ASSERT_TRUE(abs(exactly(Real(x) + Real(reach) * Real(k)) - y) <= Real(error)) << x << " " << reach;
        const Real slope = sqrt(Real(1) - y * y);
        ASSERT_TRUE(Real(error) <= Real(reach) * (slope + Real(reach)) * Real(1 + 0x1p-25) + Real(0x1p-90))
            << x << " " << reach;
      }
    }
}

TEST(TrackedSlope, OfPowersIsThatOfTheirCorners) {
  const Under under(Dtype::f64);
  using W = Tracked<Real>;
  const auto around_wide = [](double value, double error) {
    W t = W::exact(Real(value));
    t.error = error;
    t.grid = kNoGrid;
    return t;
  };
  for (const double x : {1e-200, 0.001, 0.7, 1 - 0x1p-40, 1.0, 1 + 0x1p-30, 1.4, 3.0, 1e100})
    for (const double y : {-2.5, 0.0, 1e-10, 0.5, 1.0, 3.0, 2.9})
      for (const double ex : {0.0, 0x1p-60, 0x1p-45, 0x1p-26})
        for (const double ey : {0.0, 0x1p-53, 0x1p-33}) {
          if (ex == 0 && ey == 0) continue;
          const W p = pow(around_wide(x, x * ex), around_wide(y, ey));
          const Real value = pow(Real(x), Real(y));
          Real spread(0);
          for (const double a : {-1.0, 1.0})
            for (const double b : {-1.0, 1.0}) {
              const Real corner = pow(Real(x) + Real(a * x * ex), Real(y) + Real(b * ey));
              if (spread < abs(corner - value)) spread = abs(corner - value);
            }
          const Real own = value * Real(0x1p-180);
          ASSERT_TRUE(spread <= Real(p.error) + own) << x << " " << y;
          ASSERT_TRUE(Real(p.error) <= spread * Real(1 + 0x1p-18) + own)
              << x << " " << y << " " << ex << " " << ey;
        }
}

}  // namespace
}  // namespace assay::testing

// Sums that cut off, as tensor cores do: what such a kernel gives is inside under addition=cut_off(N), and the bound is near to what
// it can lose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "calls.h"

namespace assay::testing {
namespace {

using Numbers = std::vector<double>;

Contract contract(const std::string& clause, Dtype d = Dtype::f32) { return parse_contract(clause + " -- test", d); }

// As Fasi, Higham, Mikaitis and Pranesh measured it: 24 bits and one more of the largest addend, then 24 bits of the sum.
double step(const Numbers& addends) {
  int largest = -2000;
  for (const double t : addends)
    if (t != 0) largest = std::max(largest, std::ilogb(t));
  if (largest == -2000) return 0;
  const double unit = std::ldexp(1.0, largest - 24);
  double sum = 0;
  for (const double t : addends) sum += std::trunc(t / unit) * unit;
  if (sum == 0) return 0;
  const double last = std::ldexp(1.0, std::max(std::ilogb(sum) - 23, -149));
  return std::trunc(sum / last) * last;
}

double cut_off_sum(const Numbers& terms, std::size_t at_once) {
  double sum = 0;
  for (std::size_t k = 0; k < terms.size(); k += at_once) {
    Numbers addends(terms.begin() + static_cast<std::ptrdiff_t>(k),
                    terms.begin() + static_cast<std::ptrdiff_t>(std::min(k + at_once, terms.size())));
    addends.push_back(sum);
    sum = step(addends);
  }
  return sum;
}

struct Product {
  Numbers a, b, terms;
};

// Of bf16 numbers over `octaves`, some of them zero; the last one cancels most of the others half of the time.
Product product(std::size_t n, int octaves, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> size(-octaves, octaves);
  std::normal_distribution<double> normal;
  const auto draw = [&] {
    const double x = random() % 8 == 0 ? 0 : normal(random) * std::exp2(size(random));
    return round_to(x, format(Dtype::bf16));
  };
  Product p;
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    p.a.push_back(draw());
    p.b.push_back(draw());
    if (k + 1 == n && seed % 2 == 0) {
      p.a.back() = 1;
      p.b.back() = round_to(-sum, format(Dtype::bf16));
    }
    p.terms.push_back(p.a.back() * p.b.back());
    sum += p.terms.back();
  }
  return p;
}

Interval interval(const Product& p, const Contract& by, Dtype out = Dtype::f32) {
  Call c("mm");
  const auto n = static_cast<std::int64_t>(p.a.size());
  c.tensor(out, {1, n}, p.a).tensor(out, {n, 1}, p.b);
  return c.evaluate().interval(0, 0, by);
}

TEST(CutOff, KernelsAreInsideWhateverStepsTheyTake) {
  for (const std::size_t n : {1u, 2u, 3u, 16u, 17u, 40u, 200u})
    for (const int octaves : {0, 2, 12, 60})
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Product p = product(n, octaves, seed);
        for (const std::size_t at_once : {1u, 4u, 16u}) {
          const double result = cut_off_sum(p.terms, at_once);
          const Interval i = interval(p, contract("addition=cut_off(" + std::to_string(at_once) + ")"));
          EXPECT_TRUE(i.contains(result)) << n << " terms, seed " << seed << ", " << at_once << " at once: " << result;
        }
        // Padding takes places in a step, and is no term here.
        Numbers padded;
        for (const double t : p.terms) {
          padded.insert(padded.end(), 3, 0.0);
          padded.push_back(t);
        }
        EXPECT_TRUE(interval(p, contract("addition=cut_off(1)")).contains(cut_off_sum(padded, 16))) << n << ", seed " << seed;
      }
}

// Two products that round to nearest to one bf16 number and are cut off to its neighbour.
TEST(CutOff, OfTwoTermsIsAFaultWhereAdditionsRoundToNearest) {
  const Product p{{-9.03382897e-08, -2.125}, {6.87194767e+11, 1.59454346e-03}, {}};
  EXPECT_FALSE(interval(p, {}, Dtype::bf16).contains(-61952));
  EXPECT_TRUE(interval(p, {}, Dtype::bf16).contains(-62208));
  const Contract cuts = contract("addition=cut_off(16)", Dtype::bf16);
  EXPECT_TRUE(interval(p, cuts, Dtype::bf16).contains(-61952));
  EXPECT_TRUE(interval(p, cuts, Dtype::bf16).contains(-62208));
  EXPECT_FALSE(interval(p, cuts, Dtype::bf16).contains(-62464));
}

TEST(CutOff, IsOneNumberWhereNoBitIsLost) {
  Product p;
  for (int k = 0; k < 100; ++k) {
    p.a.push_back(k % 7 - 3);
    p.b.push_back(k % 5 + 1);
    p.terms.push_back(p.a.back() * p.b.back());
  }
  const Interval i = interval(p, contract("addition=cut_off(4)"));
  EXPECT_EQ(i.lower, i.upper);
  EXPECT_EQ(i.lower, cut_off_sum(p.terms, 4));
}

// Sums that lose all they can: a large term, and others that are just not kept.
TEST(CutOff, IsReachedToAThird) {
  for (const std::size_t at_once : {1u, 16u}) {
    Product p{{1}, {1}, {1}};
    for (int k = 0; k < 160; ++k) {
      p.a.push_back(at_once == 1 ? 0x1.fep-24 : 0x1.fep-25);
      p.b.push_back(1);
      p.terms.push_back(p.a.back());
    }
    const Interval i = interval(p, contract("addition=cut_off(" + std::to_string(at_once) + ")"));
    const double lost = i.value - cut_off_sum(p.terms, at_once);
    EXPECT_GT(lost, 0);
    EXPECT_TRUE(i.contains(i.value - lost));
    EXPECT_LT(i.value - i.lower, 3 * lost) << at_once;
  }
}

}  // namespace
}  // namespace assay::testing

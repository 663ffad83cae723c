// Sums of the first term, of the first two, and so on, as a kernel that adds in order has them.
#include <gtest/gtest.h>

#include <random>

#include "calls.h"

namespace assay::testing {
namespace {

constexpr Attack kPlain{.rounding = Attack::Rounding::nearest, .shuffle = false, .fuse = false, .seed = 1};

Call& cumsum_of(Call& c, const std::vector<double>& terms) {
  c.tensor(Dtype::f32, {static_cast<std::int64_t>(terms.size())}, terms).integer(0).none();
  c.evaluate();
  return c;
}

std::vector<double> random_terms(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> terms(n);
  for (double& t : terms)
    t = random() % 4 == 0 ? 0.0 : static_cast<double>(static_cast<float>(normal(random)));
  return terms;
}

TEST(RunningSums, InOrderAreTheSumsOfEachPrefix) {
  for (const char* text : {"", "chain=blocked(1) -- test", "chain=blocked(3) -- test",
                           "chain=blocked(8) -- test", "accumulate=f64 -- test"}) {
    const Contract contract = *text == '\0' ? Contract{} : parse_contract(text, Dtype::f32);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const std::vector<double> terms = random_terms(33, seed);
      Call running("cumsum");
      Evaluation& of_all = cumsum_of(running, terms).evaluate();
      for (std::size_t k = 0; k < terms.size(); ++k) {
        Call sum("sum.dim_IntList");
        sum.tensor(Dtype::f32, {static_cast<std::int64_t>(k + 1)},
                   {terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(k + 1)});
        sum.none().boolean(false).none();
        EXPECT_EQ(of_all.attacked(0, static_cast<std::int64_t>(k), contract, kPlain),
                  sum.evaluate().attacked(0, 0, contract, kPlain))
            << text << " seed " << seed << ", the first " << k + 1 << " terms";
      }
    }
  }
}

// Whether a term is rounded when it enters a narrower accumulator is left to chance, and prefixes share trees of partial sums.
TEST(RunningSums, OfNarrowAccumulatorsAndOfTreesAreWithinTheBound) {
  for (const char* text : {"accumulate=f16 -- test", "chain=pairwise(1) -- test", "chain=pairwise(4) -- test",
                           "compute=bf16 -- test", "accumulate=bf16 -- a\nchain=blocked(4) -- b"}) {
    const Contract contract = parse_contract(text, Dtype::f32);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Call c("cumsum");
      Evaluation& e = cumsum_of(c, random_terms(33, seed)).evaluate();
      for (std::int64_t k = 0; k < 33; ++k)
        EXPECT_TRUE(e.interval(0, k, contract).contains(e.attacked(0, k, contract, kPlain)))
            << text << " " << k;
    }
  }
}

// Of quadratically many additions nobody would see the end.
TEST(RunningSums, OfAMillionTermsComeToAnEnd) {
  const std::vector<double> terms = random_terms(1'000'000, 7);
  Call c("cumsum");
  Evaluation& e = cumsum_of(c, terms).evaluate();
  for (const char* text : {"", "chain=blocked(256) -- test", "chain=pairwise(16) -- test",
                           "chain=partial(16) -- test", "accumulate=bf16 -- test"}) {
    const Contract contract = *text == '\0' ? Contract{} : parse_contract(text, Dtype::f32);
    const double last = e.attacked(0, 999'999, contract, kPlain);
    EXPECT_TRUE(e.interval(0, 999'999, contract).contains(last)) << text;
  }
}

}  // namespace
}  // namespace assay::testing

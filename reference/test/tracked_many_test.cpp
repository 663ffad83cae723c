// Sums of many terms at once, against the same terms added one by one: the same set, to the last bit of its bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "arithmetic_of_test.h"
#include "dtype.h"

namespace assay::testing {
namespace {

using Random = std::mt19937_64;

// Numbers of the dtype of every kind that sums meet: many of one kind, or of all.
double number(Random& random, int kind, Dtype dtype) {
  const Format& f = format(dtype);
  const double x = std::normal_distribution<double>()(random);
  switch (kind == 9 ? static_cast<int>(random() % 9) : kind) {
    case 0:
      return round_to(x, f);
    case 1:
      return std::round(8 * x);
    case 2:
      return x < 0 ? -0.0 : x < 1 ? 0.0 : 1.0;
    case 3:
      return round_to(x * f.min_normal, f);
    case 4:
      return round_to(x * std::sqrt(f.max), f);
    case 5:
      return round_to(x * std::sqrt(f.min_normal), f);
    case 6:
      return round_to(std::clamp(x / 2, -1.0, 1.0) * f.max, f);
    case 7:
      return random() % 16 == 0 ? (x < 0 ? -HUGE_VAL : HUGE_VAL) : round_to(x, f);
    default:
      return random() % 16 == 0 ? std::nan("") : round_to(x, f);
  }
}

template <class V>
void expect_same(const Tracked<V>& x, const Tracked<V>& y) {
  const auto same = [](const auto& p, const auto& q) { return p == q || (p != p && q != q); };
  EXPECT_TRUE(same(x.value, y.value) && Carrier<V>::negative(x.value) == Carrier<V>::negative(y.value));
  EXPECT_TRUE(same(x.error, y.error)) << x.error << " " << y.error;
  EXPECT_TRUE(same(x.magnitude, y.magnitude)) << x.magnitude << " " << y.magnitude;
  EXPECT_EQ(x.terms, y.terms);
  EXPECT_EQ(x.grid, y.grid);
  EXPECT_EQ(x.may_be, y.may_be);
  EXPECT_EQ(x.pending, y.pending);
  EXPECT_EQ(x.summed, y.summed);
  EXPECT_EQ(x.free_sign, y.free_sign);
  EXPECT_EQ(x.foreign, y.foreign);
}

// Inputs of a sum, which may be of a wider dtype than what is computed in.
std::vector<double> inputs(Random& random, Dtype dtype, std::size_t n) {
  const int kind = static_cast<int>(random() % 10);
  const Dtype of_inputs = random() % 8 == 0 ? Dtype::f32 : dtype;
  std::vector<double> x(n);
  for (double& v : x) v = number(random, kind, of_inputs);
  return x;
}

template <class V>
void compare_products(Dtype dtype, const char* contract, Random& random) {
  const Under under(dtype, contract);
  const std::size_t n = random() % 200;
  const std::vector<double> a = inputs(random, dtype, n), b = inputs(random, dtype, n);
  OpenSum<V> expected;
  OpenProducts<V> products;
  for (std::size_t k = 0; k < n; ++k) {
    expected.add(ScalarOps<Tracked<V>>::input(a[k]) * ScalarOps<Tracked<V>>::input(b[k]));
    products.add(a[k], b[k]);
  }
  const Tracked<V> bias = ScalarOps<Tracked<V>>::input(number(random, 9, dtype));
  const bool also = random() % 2 == 0;
  if (also) expected.add(bias);
  expect_same(expected.total(), products.total(also ? &bias : nullptr));
}

template <class V>
void compare_moments(Dtype dtype, const char* contract, Random& random) {
  const Under under(dtype, contract);
  using S = Tracked<V>;
  const std::vector<double> x = inputs(random, dtype, random() % 200);
  // Often not the mean, but any number that is known or not.
  const auto term = [&](std::int64_t k) { return ScalarOps<S>::input(x[static_cast<std::size_t>(k)]); };
  const auto n = static_cast<std::int64_t>(x.size());
  S centre = group(sum<S>(n, term) / S(n));
  if (random() % 4 == 0) centre = ScalarOps<S>::input(number(random, 9, dtype));
  OpenSum<V> one_by_one, all, squares, all_squares;
  for (std::int64_t k = 0; k < n; ++k) {
    one_by_one.add(term(k));
    const S distance = term(k) - centre;
    squares.add(distance * distance);
  }
  all.add_inputs(x);
  all_squares.add_squared_distances(x, centre);
  expect_same(one_by_one.total(), all.total());
  expect_same(squares.total(), all_squares.total());
}

constexpr const char* kContracts[] = {"",
                                      "compute=f32 accumulate=f32",
                                      "multiply=bf16",
                                      "ftz=yes daz=yes",
                                      "daz=yes",
                                      "accumulate=f64",
                                      "compute=f32",
                                      "chain=blocked(16)",
                                      "compute=f16",
                                      "compute=bf16"};

TEST(TrackedMany, ProductsAreThoseAddedOneByOne) {
  Random random(7);
  for (int i = 0; i < 1500; ++i)
    for (const char* contract : kContracts)
      for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
        compare_products<double>(dtype, contract, random);
        if (::testing::Test::HasFailure()) FAIL() << contract << " " << name(dtype) << " " << i;
      }
  for (int i = 0; i < 200; ++i) compare_products<Real>(Dtype::f64, "", random);
}

TEST(TrackedMany, NumbersAndTheirSquaredDistancesAreThoseAddedOneByOne) {
  Random random(8);
  for (int i = 0; i < 1500; ++i)
    for (const char* contract : kContracts)
      for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
        compare_moments<double>(dtype, contract, random);
        if (::testing::Test::HasFailure()) FAIL() << contract << " " << name(dtype) << " " << i;
      }
  for (int i = 0; i < 200; ++i) compare_moments<Real>(Dtype::f64, "", random);
}

}  // namespace
}  // namespace assay::testing

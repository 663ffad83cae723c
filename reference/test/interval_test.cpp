#include <gtest/gtest.h>

#include <cmath>

#include "reference.h"

namespace assay {
namespace {

TEST(Interval, ContainsItsFiniteNumbersAndWhatItsFlagsSay) {
  Interval i{.value = 1.5, .lower = 1, .upper = 2};
  EXPECT_TRUE(i.contains(1));
  EXPECT_TRUE(i.contains(2));
  EXPECT_FALSE(i.contains(std::nextafter(2, 3)));
  EXPECT_FALSE(i.contains(NAN));
  EXPECT_FALSE(i.contains(HUGE_VAL));
  i.nan = i.negative_infinity = true;
  EXPECT_TRUE(i.contains(NAN));
  EXPECT_TRUE(i.contains(-HUGE_VAL));
  EXPECT_FALSE(i.contains(HUGE_VAL));
}

TEST(Interval, WithoutFiniteNumbersContainsNone) {
  const Interval i{.value = NAN, .lower = HUGE_VAL, .upper = -HUGE_VAL, .nan = true};
  EXPECT_TRUE(i.contains(NAN));
  EXPECT_FALSE(i.contains(0));
  EXPECT_FALSE(i.undecidable());
  EXPECT_EQ(i.relative_width(), 0);
  EXPECT_EQ(i.error_over_bound(NAN), 0);
  EXPECT_EQ(i.error_over_bound(1), HUGE_VAL);
}

TEST(Interval, TellsZerosApartWhereTheirSignIsDecided) {
  Interval i{.value = -1e-60, .lower = -0.0, .upper = -0.0, .exact_zero_sign = true};
  EXPECT_TRUE(i.contains(-0.0));
  EXPECT_FALSE(i.contains(0.0));
  EXPECT_GT(i.error_over_bound(0.0), 1);
  i.exact_zero_sign = false;
  EXPECT_TRUE(i.contains(0.0));
}

TEST(Interval, IsUndecidableWhenEveryFiniteNumberPasses) {
  EXPECT_TRUE((Interval{.lower = -HUGE_VAL, .upper = HUGE_VAL}).undecidable());
  EXPECT_FALSE((Interval{.lower = -1e300, .upper = 1e300}).undecidable());
}

TEST(Interval, MeasuresErrorsByTheAdmissibleOnes) {
  const Interval i{.value = 1, .lower = 0.5, .upper = 3};
  EXPECT_EQ(i.error_over_bound(1), 0);
  EXPECT_EQ(i.error_over_bound(0.5), 1);
  EXPECT_EQ(i.error_over_bound(0.75), 0.5);
  EXPECT_EQ(i.error_over_bound(3), 1);
  EXPECT_EQ(i.error_over_bound(2), 0.5);
  EXPECT_EQ(i.error_over_bound(5), 2);
  EXPECT_EQ(i.error_over_bound(NAN), HUGE_VAL);
  EXPECT_EQ(i.relative_width(), 2.5);
}

TEST(Interval, OfOneNumberIsReachedByItAndMissedByTheNext) {
  const double rounded = 0.1f;
  const Interval i{.value = 0.1, .lower = rounded, .upper = rounded};
  EXPECT_EQ(i.error_over_bound(rounded), 1);
  EXPECT_GT(i.error_over_bound(std::nextafter(0.1f, 1.0f)), 1);
  EXPECT_EQ(i.error_over_bound(std::nextafter(0.1f, 0.0f)), HUGE_VAL);  // nothing is admitted on that side
  EXPECT_EQ(i.relative_width(), 0);
}

}  // namespace
}  // namespace assay

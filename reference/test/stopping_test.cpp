// Reading a reference may be ended, and does not read a row again for each of its elements.
#include <gtest/gtest.h>

#include <set>

#include "calls.h"
#include "stop.h"

namespace assay::testing {
namespace {

Evaluation& running_sums_of(Call& c, std::vector<std::int64_t> shape, std::int64_t dimension) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  c.tensor(Dtype::f32, std::move(shape), std::vector<double>(static_cast<std::size_t>(n), 0.1))
      .integer(dimension)
      .none();
  return c.evaluate();
}

constexpr Attack kAsWritten{
    .rounding = Attack::Rounding::nearest, .shuffle = false, .fuse = false, .seed = 1};

// How often a scope is asked while `work` runs, which it ends when it is asked for the `last`-th time.
template <class Work>
int asked(int last, const Work& work) {
  int times = 0;
  const StopScope scope([&] { return ++times >= last; });
  try {
    work();
  } catch (const Stopped&) {
    EXPECT_EQ(times, last);
  }
  return times;
}

TEST(Stopping, EndsEveryReadingOfALongRow) {
  Call c("cumsum");
  Evaluation& e = running_sums_of(c, {1'000'000}, 0);
  std::vector<double> values(1'000'000);
  EXPECT_EQ(asked(9, [&] { e.values(0, values); }), 9);
  EXPECT_EQ(asked(9, [&] { e.interval(0, 999'999, {}); }), 9);
  EXPECT_EQ(asked(9, [&] { e.attacked(0, 999'999, {}, kAsWritten); }), 9);
  // What was ended is read again.
  EXPECT_TRUE(e.interval(0, 999'999, {}).contains(99'999.98));
}

TEST(Stopping, EndsSumsAndResultsOfManyElements) {
  Call sum("sum.dim_IntList");
  sum.tensor(Dtype::f64, {100'000}, std::vector<double>(100'000, 0.1)).none().boolean(false).none();
  EXPECT_EQ(asked(3, [&] { sum.evaluate().interval(0, 0, {}); }), 3);
  Call many("relu");
  many.tensor(Dtype::f32, {100'000}, std::vector<double>(100'000, 0.1));
  std::vector<double> values(100'000);
  EXPECT_EQ(asked(3, [&] { many.evaluate().values(0, values); }), 3);
}

TEST(Stopping, AnOuterScopeEndsWhatAnInnerOneWouldNot) {
  const StopScope outer([] { return true; });
  const StopScope inner([] { return false; });
  EXPECT_TRUE(StopScope::over());
  EXPECT_THROW(stop_now(), Stopped);
}

// One row is kept of rows this long, so that it matters in which order they are asked for.
TEST(Rows, AreReadOneAfterTheOther) {
  Call c("cumsum");
  Evaluation& e = running_sums_of(c, {20'000, 5}, 0);
  std::vector<std::int64_t> elements;
  for (std::int64_t k = 0; k < 100'000; k += 7) elements.push_back(k);
  std::size_t changes = 0;
  std::int64_t row = -1;
  std::set<std::int64_t> taken;
  e.intervals(0, elements, {}, [&](std::int64_t element, Interval&&) {
    taken.insert(element);
    changes += e.row(0, element) != row ? 1 : 0;
    row = e.row(0, element);
  });
  EXPECT_EQ(changes, 5u);
  EXPECT_EQ(taken, std::set<std::int64_t>(elements.begin(), elements.end()));
}

}  // namespace
}  // namespace assay::testing

// Looks at contestants beside the calls that are timed: bench/group_spots.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../bench/group.h"
#include "../variants/stateful.h"
#include "vocabulary/kernel.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// relu, which is right but for what it remembers.
Contestant remembering(std::string_view name) {
  for (const assay_kernel& k : stateful_kernels(operator_named("relu")))
    if (k.name == name) {
      Contestant c;
      c.kernel = k;
      return c;
    }
  ADD_FAILURE() << name;
  return {};
}

const assay_kernel& right_kernel() {
  for (const EnrolledKernel& e : enrolled_kernels())
    if (e.kernel.name == std::string_view("cpu.baseline") &&
        e.kernel.schema == operator_named("relu").schema.text)
      return e.kernel;
  throw std::logic_error("relu has no kernel");
}

Contestant right() {
  Contestant c;
  c.kernel = right_kernel();
  return c;
}

int run_right(const assay_call* call) {
  assay_call c = *call;
  c.kernel = &right_kernel();
  return c.kernel->run(&c);
}

// As many calls as Group::check makes, and none more.
int tires(const assay_call* call) {
  static int calls = 0;
  if (++calls <= 3) return run_right(call);
  std::snprintf(call->message, call->message_capacity, "out of breath");
  return 7;
}

Group of(const std::vector<Contestant>& contestants, const char* text = "relu:f32:self=64") {
  GroupOptions options;
  options.limits = false;
  options.batch_ns = 1e4;
  return Group(parse_case(text), contestants, std::nullopt, options);
}

constexpr int kManyRounds = 200;  // of which about 25 are looked before
constexpr double kSeconds = 20;

// The first look, before anything is timed.
TEST(BenchSpots, ResultsKeptByAddressAreWrongBeforeTheyAreTimed) {
  for (const char* name : {"state.cached_by_address", "state.cached_by_address_and_shape"}) {
    Group group = of({remembering(name), right()});
    const std::vector<Checking> first = group.check();
    EXPECT_EQ(first[0].status, Checking::Status::wrong) << name;
    EXPECT_THAT(first[0].reason, StartsWith("with other data at the same addresses, out[")) << name;
    EXPECT_EQ(first[1].status, Checking::Status::right);
    group.measure(2, kSeconds);
    EXPECT_TRUE(group.times()[0].cpu.empty());
    EXPECT_EQ(group.times()[1].cpu.size(), 2u);
  }
}

// Before which rounds nobody knows; from then on it is no longer timed, and the others are.
TEST(BenchSpots, AKernelThatIsWrongLaterIsFoundBetweenRounds) {
  Group group = of({remembering("state.wrong_from_call_100"), right()});
  EXPECT_EQ(group.check()[0].status, Checking::Status::right);
  group.measure(kManyRounds, kSeconds);
  EXPECT_LT(group.times()[0].cpu.size(), std::size_t{kManyRounds} / 2);
  EXPECT_EQ(group.times()[1].cpu.size(), std::size_t{kManyRounds});
  const std::vector<Checking> last = group.check_again();
  EXPECT_EQ(last[0].status, Checking::Status::wrong);
  EXPECT_THAT(last[0].reason, AnyOf(StartsWith("between two rounds, "),
                                    StartsWith("while it was timed with data that change, ")));
  EXPECT_EQ(last[1].status, Checking::Status::right);
}

TEST(BenchSpots, WhatAKernelReturnsBetweenRoundsIsSaid) {
  Contestant failing;
  failing.kernel = right_kernel();
  failing.kernel.run = tires;
  Group group = of({failing, right()});
  EXPECT_EQ(group.check()[0].status, Checking::Status::right);
  group.measure(kManyRounds, kSeconds);
  EXPECT_THAT(group.check_again()[0].reason, HasSubstr("it returned 7: out of breath"));
}

// Few rounds call it less often than a counter counts to: it is worn before the last look.
TEST(BenchSpots, AKernelIsWornBeforeTheLastLook) {
  Group group = of({remembering("state.wrong_from_call_1000"), right()}, "relu:f32:self=100000");
  EXPECT_EQ(group.check()[0].status, Checking::Status::right);
  group.measure(1, kSeconds);
  ASSERT_LT(group.calls()[0], 900u);
  const std::vector<Checking> last = group.check_again();
  EXPECT_THAT(last[0].reason, StartsWith("after it was timed, "));
  EXPECT_EQ(last[1].status, Checking::Status::right);
}

TEST(BenchSpots, RightKernelsAreNeverAccused) {
  for (const char* text :
       {"relu:f32:self=64", "relu:f32:self=0", "relu:i8:self=3x5", "relu:f32:self=[4x5]@permuted(1,0)"}) {
    Group group = of({right(), right()}, text);
    group.check();
    group.measure(kManyRounds, kSeconds);
    for (const Checking& c : group.check_again())
      EXPECT_EQ(c.status, Checking::Status::right) << text << c.reason;
    EXPECT_EQ(group.times()[0].cpu.size(), std::size_t{kManyRounds});
  }
}

}  // namespace
}  // namespace assay

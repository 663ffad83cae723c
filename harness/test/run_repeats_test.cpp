// Calls by the thousand in one process, and what was read beside an input.
#include <chrono>
#include <cmath>

#include "run_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using Member = RepeatedCalls::Member;

class RunRepeats : public RunTest {
 protected:
  Outcome repeat(const std::string& name, std::uint32_t calls = 2000) {
    for (std::int64_t i = 0; i < self_of(other_).numel(); ++i)
      self_of(other_).set(i, static_cast<double>(-i));
    const Repeats repeats{&other_, &neighbour_, calls, calls, {}, std::chrono::seconds(30), true};
    const Task task{&kernel(name), &call_, -1, &repeats};
    return std::move(lane().run({&task, 1}).front());
  }

  Call call_ = twice_call({2, 3});
  Call other_ = twice_call({2, 3});
  Call neighbour_ = twice_call({3, 5});
};

TEST_F(RunRepeats, OfARightKernelAreAllTheSame) {
  const Outcome outcome = repeat("twice");
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  ASSERT_TRUE(outcome.repeated);
  EXPECT_EQ(outcome.repeated->calls, 2000u);
  EXPECT_EQ(outcome.repeated->differed, 0u);
  EXPECT_EQ(floats(outcome.outputs[0]), twice_of(call_));
  EXPECT_EQ(floats(outcome.repeated->first_other[0]), twice_of(other_));
  EXPECT_EQ(floats(outcome.repeated->last_neighbour[0]), twice_of(neighbour_));
}

TEST_F(RunRepeats, ShowResultsThatAreKeptByAddress) {
  const Outcome outcome = repeat("keeps results");
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  EXPECT_EQ(floats(outcome.repeated->first_other[0]), twice_of(call_));  // and not of its own data
}

TEST_F(RunRepeats, ShowACounter) {
  const Outcome outcome = repeat("wrong from 1000");
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  EXPECT_EQ(outcome.repeated->differed, 1000u);
  EXPECT_EQ(floats(outcome.repeated->last[0])[0], -1);
  // What comes next runs in another process.
  expect_twice(run(kernels_.back(), call_), call_);
}

TEST_F(RunRepeats, PoisonResultsBetweenCalls) {
  const Outcome outcome = repeat("writes once");
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  EXPECT_EQ(outcome.repeated->differed, 2u);
  EXPECT_THAT(outcome.repeated->unwritten, HasSubstr("left 6 of 6 elements"));
}

TEST_F(RunRepeats, ShowWhatCallsOfOtherShapesLeaveBehind) {
  const Outcome outcome = repeat("remembers shapes");
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  EXPECT_GT(outcome.repeated->differed, 0u);
  EXPECT_EQ(outcome.repeated->which, Member::own);
  EXPECT_EQ(outcome.repeated->before, Member::neighbour);
}

TEST_F(RunRepeats, NameTheCallThatCrashed) {
  const Outcome outcome = repeat("crashes at 500");
  EXPECT_EQ(outcome.kind, Outcome::Kind::crashed);
  EXPECT_THAT(outcome.detail, HasSubstr("segmentation fault"));
}

TEST_F(RunRepeats, LeaveInputsReadOnly) {
  const Outcome outcome = repeat("write input");
  EXPECT_EQ(outcome.kind, Outcome::Kind::memory);
  EXPECT_THAT(outcome.detail, HasSubstr("wrote to its input `self`"));
}

TEST_F(RunRepeats, PoisonBesideAnInputIsNotThatOfTheResult) {
  const Call padded = twice_call({2, 3}, {Layout::Kind::strides, {8, 1}});
  const Kernel& k = kernel("reads beside row");
  const Outcome poisoned = run(k, padded);
  ASSERT_EQ(poisoned.kind, Outcome::Kind::ok) << poisoned.detail;
  EXPECT_TRUE(std::isnan(floats(poisoned.outputs[0])[0]));
  const Task finite{&k, &padded, 0};
  const Outcome other = std::move(lane().run({&finite, 1}).front());
  ASSERT_EQ(other.kind, Outcome::Kind::ok) << other.detail;
  EXPECT_EQ(floats(other.outputs[0]), twice_of(padded));
}

}  // namespace
}  // namespace assay

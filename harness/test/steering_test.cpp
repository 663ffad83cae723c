// Cases in place of refused ones: what is learned from refusals, and how many cases a narrow kernel is judged on.
#include "../generate/steering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "../generate/case_classes.h"
#include "../generate/cases.h"
#include "../generate/check_case.h"
#include "../generate/layouts.h"
#include "vocabulary/operators.h"

namespace assay::test {
namespace {

using Ints = std::vector<std::int64_t>;
using Takes = std::function<bool(const Case&)>;

constexpr std::uint64_t kCases = 250;

bool has_layout(const Case& c, Layout::Kind kind) {
  const auto is = [kind](const Layout& l) { return l.kind == kind; };
  return std::ranges::all_of(tensors_of(c), [&](const TensorSpec* t) { return is(t->layout); }) &&
         std::ranges::all_of(output_layouts(c), is);
}

bool is_contiguous(const Case& c) { return has_layout(c, Layout::Kind::contiguous); }

bool all_are(const CaseValue& v, std::int64_t n) {
  return std::ranges::all_of(std::get<Ints>(v), [n](std::int64_t i) { return i == n; });
}

bool is_plain_convolution(const Case& c) {
  return std::get<TensorSpec>(c.arguments[0]).shape.size() == 4 && all_are(c.arguments[5], 1) &&
         !std::get<bool>(c.arguments[6]) && std::get<std::int64_t>(c.arguments[8]) == 1;
}

struct Steered {
  std::vector<Case> taken;
  int tried = 0;
};

// As a run does: the generated cases first, then others until as many more were taken as had been refused, or tries are over.
Steered steer(const Operator& op, std::uint64_t seed, const Takes& takes) {
  Steering steering(op, Dtype::f32, seed, kCases);
  int missing = 0;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const Case c = generate(op, Dtype::f32, seed, i);
    steering.saw(c, !takes(c));
    missing += takes(c) ? 0 : 1;
  }
  Steered s;
  for (; missing > 0 && s.tried < 20 * static_cast<int>(kCases); ++s.tried) {
    const Case c = steering.next();
    EXPECT_TRUE(check_case(c).ok()) << text(c);
    steering.saw(c, !takes(c));
    if (!takes(c)) continue;
    s.taken.push_back(c);
    --missing;
  }
  EXPECT_EQ(missing, 0) << op.schema.name << ", seed " << seed << ", " << s.tried << " tried";
  return s;
}

TEST(Steering, FindsCasesForKernelsThatTakeFew) {
  const std::vector<std::pair<const Operator*, Takes>> kernels{
      {&operator_named("convolution"),
       [](const Case& c) { return is_contiguous(c) && is_plain_convolution(c); }},
      {&operator_named("convolution"),
       [](const Case& c) {  // 3x3, stride 1, padding 1
         const Shape& w = std::get<TensorSpec>(c.arguments[1]).shape;
         return is_contiguous(c) && is_plain_convolution(c) && w[2] == 3 && w[3] == 3 &&
                all_are(c.arguments[3], 1) && all_are(c.arguments[4], 1);
       }},
      {&operator_named("mm"),
       [](const Case& c) {
         return is_contiguous(c) && std::ranges::all_of(tensors_of(c), [](const TensorSpec* t) {
                  return t->shape[0] % 16 == 0 && t->shape[1] % 16 == 0;
                });
       }},
      {&operator_named("softmax.int"),
       [](const Case& c) {
         const auto dim = std::get<std::int64_t>(c.arguments[1]);
         return is_contiguous(c) && std::get<TensorSpec>(c.arguments[0]).shape.size() == 2 &&
                (dim == -1 || dim == 1) && std::holds_alternative<None>(c.arguments[2]);
       }},
  };
  for (const auto& [op, takes] : kernels)
    for (std::uint64_t seed = 0; seed < 2; ++seed) steer(*op, seed, takes);
}

// Nothing of the generated cases is like it: what is tried while nothing was taken has to hit it.
TEST(Steering, FindsKernelsThatWantChannelsLastThroughout) {
  const Steered s = steer(operator_named("convolution"), 0, [](const Case& c) {
    return has_layout(c, Layout::Kind::channels_last) &&
           std::get<TensorSpec>(c.arguments[0]).shape.size() == 4;
  });
  EXPECT_LT(s.tried, 2'000);
}

// A class that few refusals stand against is tried on: biases were refused as all else was.
TEST(Steering, DoesNotBarWhatARareKernelTakes) {
  const Steered s = steer(operator_named("convolution"), 0, [](const Case& c) {
    const Shape& w = std::get<TensorSpec>(c.arguments[1]).shape;
    return is_contiguous(c) && is_plain_convolution(c) && w[2] == 3 && w[3] == 3 &&
           all_are(c.arguments[3], 1);
  });
  const auto with_bias = std::ranges::count_if(
      s.taken, [](const Case& c) { return std::holds_alternative<TensorSpec>(c.arguments[2]); });
  EXPECT_GT(with_bias, 20);
  EXPECT_LT(with_bias, static_cast<std::ptrdiff_t>(s.taken.size()) - 20);
}

TEST(Steering, GivesNoCaseTwice) {
  const Steered s = steer(operator_named("relu"), 1, [](const Case& c) { return is_contiguous(c); });
  std::set<std::string> texts;
  for (Case c : s.taken) {
    c.seed = 0;
    EXPECT_TRUE(texts.insert(text(c)).second) << text(c);
  }
}

TEST(Steering, IsAPureFunctionOfWhatItSaw) {
  Steering a(operator_named("mm"), Dtype::f32, 3, kCases), b(operator_named("mm"), Dtype::f32, 3, kCases);
  for (int i = 0; i < 60; ++i) {
    const Case c = a.next();
    ASSERT_EQ(text(c), text(b.next()));
    const bool refused = !is_contiguous(c);
    a.saw(c, refused);
    b.saw(c, refused);
  }
}

// A kernel that takes nothing must not keep anybody waiting.
TEST(Steering, GoesOnWhereNothingIsTaken) {
  Steering steering(operator_named("convolution"), Dtype::f32, 0, kCases);
  for (int i = 0; i < 200; ++i) {
    const Case c = steering.next();
    ASSERT_TRUE(check_case(c).ok()) << text(c);
    steering.saw(c, true);
  }
  EXPECT_FALSE(steering.took_any());
}

}  // namespace
}  // namespace assay::test

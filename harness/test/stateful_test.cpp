// Kernels that the self-test plants for what they remember: each does what it says, so that finding it means something.
#include "../variants/stateful.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "../selftest/state_trial.h"
#include "test/effort.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr float kPoison = 12345;

// relu of one row at an address of its own.
class Stateful : public testing::Test {
 protected:
  // With a memory of its own.
  static assay_kernel kernel(std::string_view name) {
    for (const assay_kernel& k : stateful_kernels(operator_named("relu")))
      if (k.name == name) return k;
    ADD_FAILURE() << "no kernel " << name;
    return {};
  }

  // Numbers that are all positive, so that they are their own relu.
  std::vector<float> call(const assay_kernel& k, const std::vector<float>& data) {
    std::ranges::copy(data, input_.begin());
    output_.fill(kPoison);
    std::int64_t size = static_cast<std::int64_t>(data.size()), stride = 1;
    const assay_tensor x{input_.data(), {ASSAY_CPU, 0}, 1, {ASSAY_FLOAT, 32, 1}, &size, &stride, 0};
    assay_tensor y = x;
    y.data = output_.data();
    assay_value argument{ASSAY_KIND_TENSOR, 1, {.tensor = &x}};
    assay_tensor* outputs[] = {&y};
    char message[256];
    assay_call c{};
    c.size = sizeof(c);
    c.argument_count = c.output_count = 1;
    c.arguments = &argument;
    c.outputs = outputs;
    c.message_capacity = sizeof(message);
    c.message = message;
    c.kernel = &k;
    EXPECT_EQ(k.run(&c), ASSAY_OK) << message;
    return {output_.begin(), output_.begin() + size};
  }

 private:
  std::array<float, 16> input_{}, output_{};
};

using Floats = std::vector<float>;
const Floats kOne{1, 2, 3}, kTwo{4, 5, 6}, kZeros{0, 0, 0};

TEST_F(Stateful, ResultsKeptByAddressAreThoseOfTheEarlierData) {
  const assay_kernel k = kernel("state.cached_by_address");
  EXPECT_EQ(call(k, kOne), kOne);
  EXPECT_EQ(call(k, kTwo), kOne);
  EXPECT_EQ(call(k, {7, 8}), (Floats{7, 8})) << "a result of another size is none that it has";
}

TEST_F(Stateful, ResultsKeptByShapeToo) {
  const assay_kernel k = kernel("state.cached_by_address_and_shape");
  EXPECT_EQ(call(k, kOne), kOne);
  EXPECT_EQ(call(k, {7, 8}), (Floats{7, 8}));
  EXPECT_EQ(call(k, kTwo), kOne);
}

TEST_F(Stateful, CountersCountTheCallsOfOneKernel) {
  const assay_kernel k = kernel("state.wrong_from_call_3");
  EXPECT_EQ(call(k, kOne), kOne);
  EXPECT_EQ(call(kernel("state.wrong_from_call_3"), kOne), kOne);
  EXPECT_EQ(call(k, kTwo), kTwo);
  EXPECT_EQ(call(k, kOne), kZeros);
  EXPECT_EQ(call(k, kOne), kZeros);
  const assay_kernel thousand = kernel("state.wrong_from_call_1000");
  for (int i = 1; i < 1000; ++i) ASSERT_EQ(call(thousand, kOne), kOne) << i;
  EXPECT_EQ(call(thousand, kOne), kZeros);
}

TEST_F(Stateful, FirstCallsAreWrong) {
  const assay_kernel first = kernel("state.first_call_wrong");
  EXPECT_EQ(call(first, kOne), kZeros);
  EXPECT_EQ(call(first, kTwo), kTwo);
  const assay_kernel twice = kernel("state.right_when_asked_twice");
  EXPECT_EQ(call(twice, kOne), kZeros);
  EXPECT_EQ(call(twice, kOne), kOne);
  EXPECT_EQ(call(twice, kTwo), kZeros);
  EXPECT_EQ(call(twice, kOne), kZeros);
}

TEST_F(Stateful, StaleResultsAreThoseOfTheCallBefore) {
  const assay_kernel k = kernel(kStale);
  EXPECT_EQ(call(k, kOne), kZeros);
  EXPECT_EQ(call(k, kTwo), kOne);
  EXPECT_EQ(call(k, kTwo), kOne) << "who asks again gets the same again";
  EXPECT_EQ(call(k, {7, 8}), (Floats{4, 5}));
  EXPECT_EQ(call(k, kOne), (Floats{7, 8, 6})) << "what was longer is still there";
}

TEST_F(Stateful, AnElementStaysUnwritten) { EXPECT_EQ(call(kernel(kUnwritten), kOne), (Floats{1, 2, kPoison})); }

TEST_F(Stateful, OfEveryOperatorAreAllKinds) {
  for (const Operator* op : operators()) {
    if (kSanitized && !has_stateful(*op)) continue;  // a sanitized build has the kernels of some operators
    ASSERT_TRUE(has_stateful(*op)) << op->schema.name;
    EXPECT_EQ(stateful_faults(*op).size(), stateful_kinds().size()) << op->schema.name;
  }
}

}  // namespace
}  // namespace assay

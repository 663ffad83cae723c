// What the tests of harness/run share: calls of the test worker's kernels.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "harness/run/lane.h"

namespace assay {

// Where CMake put run_test_worker.
inline std::string run_test_worker() { return ASSAY_RUN_TEST_WORKER; }

// Elements of a tensor of 256 MiB. ThreadSanitizer looks at every access: there, one of 16 MiB has to do.
#if defined(ASSAY_SANITIZE_THREAD)
inline constexpr std::int64_t kHuge = 4 << 20;
#else
inline constexpr std::int64_t kHuge = 64 << 20;
#endif

inline constexpr Operator kTwice{.schema = parse_schema("twice(Tensor self) -> Tensor"),
                                 .shapes = "self=[*] -> [*]"};
inline constexpr Operator kPrelu{.schema = parse_schema("prelu(Tensor self, Tensor weight) -> Tensor"),
                                 .shapes = "self=[*] weight=[1] -> [*]"};

inline Call twice_call(const Shape& shape, const Layout& layout = {}, const Layout& output_layout = {}) {
  Call call;
  call.op = &kTwice;
  TensorData self(Dtype::f32, shape, layout);
  for (std::int64_t i = 0; i < self.numel(); ++i) self.set(i, static_cast<double>(i + 1));
  call.arguments.emplace_back(std::move(self));
  call.outputs.push_back({Dtype::f32, shape});
  call.output_layouts.push_back(output_layout);
  return call;
}

inline TensorData& self_of(Call& call) { return std::get<TensorData>(call.arguments[0]); }

inline std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> f(bytes.size() / sizeof(float));
  if (!f.empty()) std::memcpy(f.data(), bytes.data(), f.size() * sizeof(float));
  return f;
}

inline std::vector<float> twice_of(const Call& call) {
  const auto& self = std::get<TensorData>(call.arguments[0]);
  std::vector<float> f;
  for (std::int64_t i = 0; i < self.numel(); ++i) f.push_back(static_cast<float>(2 * self.get(i)));
  return f;
}

class RunTest : public testing::Test {
 protected:
  const Kernel& kernel(const std::string& name, const std::vector<std::string>& variables = {},
                       const std::vector<std::string>& arguments = {}) {
    Kernel& k = kernels_.emplace_back();
    k.op = &kTwice;
    k.schema = kTwice.schema.text;
    k.name = "test." + name;
    k.table_name = name;
    k.environment = {run_test_worker(), arguments, variables};
    return k;
  }
  Lane& lane() {
    if (!lane_) lane_ = std::make_unique<Lane>(zygotes_, options_);
    return *lane_;
  }
  Outcome run(const std::string& name, const Call& call) { return run(kernel(name), call); }
  Outcome run(const Kernel& k, const Call& call) {
    const Task task{&k, &call};
    return std::move(lane().run({&task, 1}).front());
  }
  void expect_twice(const Outcome& outcome, const Call& call) {
    EXPECT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
    ASSERT_EQ(outcome.outputs.size(), 1u);
    ASSERT_EQ(outcome.second().size(), 1u);
    EXPECT_EQ(floats(outcome.outputs[0]), twice_of(call));
    EXPECT_EQ(floats(outcome.second()[0]), twice_of(call));
  }
  void expect_memory(const Outcome& outcome, const std::string& sentence) {
    EXPECT_EQ(outcome.kind, Outcome::Kind::memory);
    EXPECT_THAT(outcome.detail, testing::HasSubstr(sentence));
    EXPECT_TRUE(outcome.outputs.empty());
  }
  void expect_crashed(const Outcome& outcome, const std::string& sentence) {
    EXPECT_EQ(outcome.kind, Outcome::Kind::crashed);
    EXPECT_THAT(outcome.detail, testing::HasSubstr(sentence));
  }

  std::shared_ptr<Zygotes> zygotes_ = make_zygotes();
  RunOptions options_;
  std::deque<Kernel> kernels_;
  std::unique_ptr<Lane> lane_;
};

}  // namespace assay

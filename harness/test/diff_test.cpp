// How two tensors differ: distances, classes, matching, rearrangement, and the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "diff_numbers.h"
#include "harness/diff/diff.h"
#include "harness/diff/rearranged.h"
#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "tensors_bytes.h"

namespace assay::diff {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::byte> packed(const std::vector<double>& values, Dtype dtype) {
  std::vector<std::byte> data(values.size() * static_cast<std::size_t>(bytes(dtype)));
  for (std::size_t i = 0; i < values.size(); ++i)
    store(data.data() + i * static_cast<std::size_t>(bytes(dtype)), dtype, values[i]);
  return data;
}

// ---- Distances and classes --------------------------------------------------------------------------------

TEST(UlpDistance, CountsStepsBetweenNeighbours) {
  const Format &f32 = format(Dtype::f32), &f64 = format(Dtype::f64), &bf16 = format(Dtype::bf16);
  EXPECT_EQ(ulp_distance(1, 1, f32), 0u);
  EXPECT_EQ(ulp_distance(1, 1 + 0x1p-23, f32), 1u);
  EXPECT_EQ(ulp_distance(1, 1 - 0x1p-24, f32), 1u);
  EXPECT_EQ(ulp_distance(1, 2, f32), 1u << 23);
  EXPECT_EQ(ulp_distance(0, 0x1p-149, f32), 1u);
  EXPECT_EQ(ulp_distance(0.0, -0.0, f32), 0u);
  EXPECT_EQ(ulp_distance(-0x1p-149, 0x1p-149, f32), 2u);
  EXPECT_EQ(ulp_distance(0x1p-126, 0x1p-126 - 0x1p-149, f32), 1u);
  EXPECT_EQ(ulp_distance(1, 1 + 0x1p-52, f64), 1u);
  const double max = std::numeric_limits<double>::max();
  EXPECT_EQ(ulp_distance(max, std::nextafter(max, 0), f64), 1u);
  EXPECT_EQ(ulp_distance(max, -max, f64), 2 * ((std::uint64_t{2047} << 52) - 1));
  EXPECT_EQ(ulp_distance(1, 1.0078125, bf16), 1u);
}

TEST(Compare, PutsEveryElementInOneClass) {
  const double nan = std::nan(""), inf = HUGE_VAL;
  const std::vector<double> a{1, 0, 1, 1, 1, nan, nan, inf, inf, 3};
  const std::vector<double> b{1, -0.0, 1 + 0x1p-23, 1 + 0x1p-20, 2, nan, 1, inf, -inf, 3};
  const auto x = packed(a, Dtype::f32), y = packed(b, Dtype::f32);
  const Comparison c = compare({x, Dtype::f32}, {y, Dtype::f32});
  EXPECT_EQ(c.elements, 10u);
  EXPECT_EQ(c.of(Class::equal), 4u);
  EXPECT_EQ(c.of(Class::zero_sign), 1u);
  EXPECT_EQ(c.of(Class::one_ulp), 1u);
  EXPECT_EQ(c.of(Class::small), 1u);
  EXPECT_EQ(c.of(Class::large), 1u);
  EXPECT_EQ(c.of(Class::nonfinite), 2u);
  EXPECT_EQ(c.worst, Class::nonfinite);
  EXPECT_EQ(c.farthest.element, 6u);
  EXPECT_EQ(c.ulp, 1u << 23);
  EXPECT_EQ(c.difference, 1);
  EXPECT_EQ(c.widest.element, 4u);
  EXPECT_EQ(c.histogram[0], 1u);
  EXPECT_EQ(c.histogram[3], 1u);  // 8 ulp
  EXPECT_EQ(elements_from(Class::large, {x, Dtype::f32}, {y, Dtype::f32}).count(), 3u);
}

TEST(Compare, OfTwoDtypesInTheCoarserOne) {
  const std::vector<double> a = normal(1000, 1);
  const auto x = packed(a, Dtype::f32), y = packed(a, Dtype::bf16);
  const Comparison c = compare({x, Dtype::f32}, {y, Dtype::bf16});
  EXPECT_EQ(c.unit, Dtype::bf16);
  EXPECT_LE(c.worst, Class::one_ulp);
}

TEST(Compare, IntegersBeyondDoubles) {
  std::vector<std::byte> x(16), y(16);
  const std::int64_t a[] = {std::int64_t{1} << 60, std::numeric_limits<std::int64_t>::min()};
  const std::int64_t b[] = {(std::int64_t{1} << 60) + 1, std::numeric_limits<std::int64_t>::max()};
  std::memcpy(x.data(), a, 16);
  std::memcpy(y.data(), b, 16);
  const Comparison c = compare({x, Dtype::i64}, {y, Dtype::i64});
  EXPECT_EQ(c.of(Class::one_ulp), 1u);
  EXPECT_EQ(c.of(Class::large), 1u);
  EXPECT_EQ(c.ulp, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(c.farthest.integer_a, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(c.farthest.integer_b, std::numeric_limits<std::int64_t>::max());
}

// ---- Rearrangement ----------------------------------------------------------------------------------------

RecordedTensor tensor(const Shape& shape, const std::vector<double>& values) {
  return {Dtype::f32, shape, packed(values, Dtype::f32)};
}

std::optional<std::string> rearranged(const RecordedTensor& a, const RecordedTensor& b) {
  return diff::rearranged({a.data, a.dtype}, a.shape, {b.data, b.dtype}, b.shape);
}

TEST(Rearranged, IsFoundAndNamed) {
  const Shape shape{2, 3, 4, 5};
  const std::vector<double> x = normal(120, 9);
  const RecordedTensor a = tensor(shape, x);
  std::vector<double> nhwc;
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t w = 0; w < 5; ++w)
        for (std::size_t c = 0; c < 3; ++c) nhwc.push_back(x[((n * 3 + c) * 4 + h) * 5 + w]);
  EXPECT_EQ(rearranged(a, tensor({2, 4, 5, 3}, nhwc)), "its dimensions in the order (0, 2, 3, 1)");
  EXPECT_EQ(rearranged(a, tensor(shape, nhwc)), "written with its dimensions in the order (0, 2, 3, 1)");
  EXPECT_EQ(rearranged(a, tensor({6, 20}, x)), "the same numbers in the same order, as shape [6x20]");

  std::vector<double> square = normal(400, 10), transposed(400), flipped(400), shifted(400);
  for (std::size_t i = 0; i < 400; ++i) {
    transposed[i % 20 * 20 + i / 20] = square[i];
    flipped[i / 20 * 20 + 19 - i % 20] = square[i];
    shifted[(i + 3) % 400] = square[i];
  }
  const RecordedTensor s = tensor({20, 20}, square);
  EXPECT_EQ(rearranged(s, tensor({20, 20}, transposed)), "its dimensions in the order (1, 0)");
  EXPECT_EQ(rearranged(s, tensor({20, 20}, flipped)), "dimension 1 reversed");
  EXPECT_EQ(rearranged(s, tensor({20, 20}, shifted)), "shifted by 3 elements");
}

TEST(Rearranged, IsNotClaimedOfOtherNumbers) {
  const RecordedTensor a = tensor({20, 20}, normal(400, 1));
  EXPECT_FALSE(rearranged(a, a));
  EXPECT_FALSE(rearranged(a, tensor({20, 20}, normal(400, 2))));
  EXPECT_FALSE(rearranged(tensor({20, 20}, std::vector<double>(400, 1.0)),
                          tensor({400}, std::vector<double>(400, 1.0))));
  EXPECT_FALSE(rearranged(tensor({0}, {}), tensor({2, 0}, {})));
}

// ---- The command ------------------------------------------------------------------------------------------

class DiffCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.path() / "a");
    fs::create_directories(folder_.path() / "b");
  }

  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string write(const std::string& name, const Shape& shape, const std::vector<double>& values) const {
    std::string sizes;
    for (const std::int64_t n : shape) sizes += std::to_string(n) + ",";
    const auto data = packed(values, Dtype::f32);
    write_file(path(name), npy("<f4", "(" + sizes + ")",
                               {reinterpret_cast<const char*>(data.data()), data.size()}, false));
    return path(name);
  }
  static Finished diff(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "diff");
    return run_program(ASSAY_PROGRAM, arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(DiffCommand, SaysWhereTensorsDiffer) {
  const std::vector<double> x = normal(420, 5);
  std::vector<double> y = x;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (y[i] < 0) y[i] *= 1.07;
  const std::string a = write("a.npy", {2, 6, 5, 7}, x), b = write("b.npy", {2, 6, 5, 7}, y);
  const Finished same = diff({a, a});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("0 of 1 tensor differ."));
  const Finished differs = diff({a, b});
  EXPECT_EQ(differs.status, 1) << differs.err;
  EXPECT_THAT(differs.out, HasSubstr("Where a is below 0: 100% of these elements"));
  EXPECT_THAT(differs.out, HasSubstr("the only tensor of each file"));
  const auto json = nlohmann::json::parse(diff({a, b, "--json", "-"}).out);
  EXPECT_EQ(json["format"], "assay.diff/1");
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["tensors"][0]["rule"]["text"], "a is below 0");
}

TEST_F(DiffCommand, SaysThatOneIsTheOtherInFewerBits) {
  const float full[2] = {1.01f, -2};
  const std::uint16_t bf16[2] = {0x3F81, 0xC000}, other[2] = {0x3F82, 0xC000};
  write_file(path("full"), {reinterpret_cast<const char*>(full), sizeof full});
  write_file(path("bf16"), {reinterpret_cast<const char*>(bf16), sizeof bf16});
  write_file(path("other"), {reinterpret_cast<const char*>(other), sizeof other});
  const auto with = [&](const std::string& b) {
    return diff({"raw:f32[2]@" + path("full"), "raw:bf16[2]@" + path(b)}).out;
  };
  EXPECT_THAT(with("bf16"), HasSubstr("1 equal, 1 element 1 ulp apart."));
  EXPECT_THAT(with("bf16"), HasSubstr("B is A rounded to bf16."));
  EXPECT_THAT(with("other"), Not(HasSubstr("rounded")));
}

// As doubles, these two are one number.
TEST_F(DiffCommand, PrintsIntegersInFull) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t i : {kMost, kMost - 1})
    write_file(path(std::to_string(kMost - i)), {reinterpret_cast<const char*>(&i), sizeof i});
  const std::string a = "raw:i64[]@" + path("0"), b = "raw:i64[]@" + path("1");
  const Finished f = diff({a, b});
  EXPECT_THAT(f.out, HasSubstr("[] is 9223372036854775807 in A and 9223372036854775806 in B, 1 ulp."));
  EXPECT_THAT(f.out, HasSubstr("Largest difference: 1 at []"));
  const auto far = nlohmann::json::parse(diff({a, b, "--json", "-"}).out)["tensors"][0]["farthest"];
  EXPECT_EQ(far["a"].get<std::int64_t>(), kMost);
  EXPECT_EQ(far["b"].get<std::int64_t>(), kMost - 1);
  const auto one = nlohmann::json::parse(
      diff({write("x.npy", {1}, {1}), write("y.npy", {1}, {2}), "--json", "-"}).out)["tensors"][0];
  EXPECT_TRUE(one["farthest"]["a"].is_number_float()) << "of floating-point tensors";
}

TEST_F(DiffCommand, MatchesByNameByMapAndByContent) {
  const std::vector<double> x = normal(60, 1), y = normal(60, 2), z = normal(60, 3);
  write("a/one.npy", {60}, x), write("b/one.npy", {60}, x);
  write("a/two.npy", {60}, y), write("b/second.npy", {60}, y);
  write("a/three.npy", {60}, z);
  const Finished f = diff({path("a"), path("b")});
  EXPECT_EQ(f.status, 1);
  EXPECT_THAT(f.out, HasSubstr("two | second"));
  EXPECT_THAT(f.out, HasSubstr("most numbers alike"));
  EXPECT_THAT(f.out, HasSubstr("only in A  three"));
  std::ofstream(path("map")) << "three second  # on purpose\n";
  const Finished mapped = diff({path("a"), path("b"), "--map", path("map")});
  EXPECT_THAT(mapped.out, HasSubstr("three | second"));
  std::ofstream(path("map")) << "three\n";
  const Finished bad = diff({path("a"), path("b"), "--map", path("map")});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("line 1: write the name in A"));
}

// Results that are wholly wrong have no numbers alike to be matched by.
TEST_F(DiffCommand, SaysWhatWasNotComparedAndHowToNameIt) {
  write("a/act.npy", {60}, normal(60, 1)), write("b/relu_3.npy", {60}, normal(60, 2));
  write("a/one.npy", {7}, normal(7, 3)), write("b/one.npy", {7}, normal(7, 3));
  const Finished f = diff({path("a"), path("b")});
  EXPECT_EQ(f.status, 1);
  EXPECT_THAT(f.out, HasSubstr("only in A  act  f32[60]"));
  EXPECT_THAT(f.out, HasSubstr("These were not compared"));
  EXPECT_THAT(f.out, HasSubstr("--map FILE names pairs"));
  EXPECT_THAT(f.out, HasSubstr("Of one shape, with 0% of their numbers alike: act relu_3"));
  const auto json = nlohmann::json::parse(diff({path("a"), path("b"), "--json", "-"}).out);
  EXPECT_EQ(json["only_in_a"], nlohmann::json({"act"}));
  EXPECT_EQ(json["likely"][0]["b"], "relu_3");
}

TEST_F(DiffCommand, NeverTakesATransposeForTheSame) {
  const std::vector<double> x = normal(12, 4);
  const Finished f = diff({write("a.npy", {3, 4}, x), write("b.npy", {4, 3}, x)});
  EXPECT_EQ(f.status, 1);
  EXPECT_THAT(f.out, HasSubstr("The shapes differ"));
  EXPECT_THAT(f.out, HasSubstr("the same numbers in the same order, as shape [4x3]"));
}

TEST_F(DiffCommand, TakesOneTensorOfAFile) {
  const std::vector<double> x = normal(12, 4);
  write("a/one.npy", {3, 4}, x), write("a/two.npy", {3, 4}, normal(12, 5));
  const std::string file = write("x.npy", {3, 4}, x);
  const Finished same = diff({path("a") + ":one", file}), other = diff({file, path("a") + ":two"});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("0 of 1 tensor differ"));
  EXPECT_EQ(other.status, 1) << other.out << other.err;
  const Finished none = diff({path("a") + ":three", file});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("\"three\": the file has none of this name, but \"one\", \"two\""));
  EXPECT_THAT(diff({path("a") + ":", file}).err, HasSubstr("no tensor is named after the colon"));
}

TEST_F(DiffCommand, RefusesWhatItCannotRead) {
  const std::string a = write("a.npy", {3}, {1, 2, 3});
  EXPECT_EQ(diff({a, path("none.npy")}).status, 2);
  std::ofstream(path("text.npy")) << "hello";
  const Finished f = diff({a, path("text.npy")});
  EXPECT_EQ(f.status, 2);
  EXPECT_THAT(f.err, HasSubstr("text.npy"));
}

}  // namespace
}  // namespace assay::diff

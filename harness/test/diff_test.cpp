// How two tensors differ: distances, classes, rules, matching, rearrangement, and the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

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

std::vector<double> normal(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(n);
  for (double& x : values) x = static_cast<float>(draw(random));
  return values;
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

// ---- Rules ------------------------------------------------------------------------------------------------

struct Planted {
  Shape shape;
  std::function<bool(const Shape& index, double x)> wrong;
  std::string rule;  // a part of what is said
};

void expect_rule(const Planted& p) {
  std::int64_t numel = 1;
  for (const std::int64_t n : p.shape) numel *= n;
  const std::vector<double> x = normal(static_cast<std::size_t>(numel), 7);
  Mask set(static_cast<std::uint64_t>(numel));
  for (std::int64_t i = 0; i < numel; ++i) {
    Shape index(p.shape.size());
    std::int64_t left = i;
    for (std::size_t d = p.shape.size(); d-- > 0;) {
      index[d] = left % p.shape[d];
      left /= p.shape[d];
    }
    if (p.wrong(index, x[static_cast<std::size_t>(i)])) set.set(static_cast<std::uint64_t>(i));
  }
  const auto rule = smallest_rule(p.shape, set, {{"a", [&](std::uint64_t i) { return x[i]; }}});
  ASSERT_TRUE(rule) << p.rule;
  EXPECT_THAT(rule->text, HasSubstr(p.rule));
  EXPECT_GE(rule->precision, 0.99) << rule->text;
  EXPECT_GE(rule->recall, 0.99) << rule->text;
}

TEST(Rule, NamesWhatWasPlanted) {
  expect_rule({{2, 6, 5, 7}, [](const Shape&, double x) { return x < 0; }, "a is below 0"});
  expect_rule({{2, 6, 5, 7}, [](const Shape& i, double) { return i[1] == 3; }, "dimension 1 is 3"});
  expect_rule({{2, 6, 5, 7}, [](const Shape& i, double) { return i[1] != 0; }, "dimension 1 is not 0"});
  expect_rule({{4, 67},
               [](const Shape& i, double) { return i[1] >= 64; },
               "dimension 1 is 64 or more, behind the last whole vector of 64"});
  expect_rule({{3, 160},
               [](const Shape& i, double) { return i[1] % 16 >= 13; },
               "dimension 1 modulo 16 is 13 or more"});
  expect_rule({{3, 90}, [](const Shape& i, double) { return i[1] % 9 == 4; }, "dimension 1 modulo 9 is 4"});
  expect_rule({{1, 3, 14, 15},
               [](const Shape& i, double) { return i[2] == 0 || i[2] == 13 || i[3] == 0 || i[3] == 14; },
               "dimension 2 or 3 is on its border"});
  expect_rule({{40, 30}, [](const Shape&, double x) { return std::fabs(x) >= 1.5; }, "|a| is 1.5"});
  expect_rule({{100}, [](const Shape&, double) { return true; }, "everywhere"});
  expect_rule({{7, 11, 4},
               [](const Shape& i, double) { return i[1] == 2 || i[1] == 5 || i[1] == 9; },
               "dimension 1 is one of 2, 5, 9"});
}

// A row-major number modulo something may be as good.
TEST(Rule, SpeaksOfTilesAndRows) {
  expect_rule({{64, 47},
               [](const Shape& i, double) { return i[0] >= 16 && i[0] < 32 && i[1] >= 8 && i[1] < 24; },
               "dimension 0 is 16 to 31 and dimension 1 is 8 to 23"});
  expect_rule(
      {{4, 30, 40},
       [](const Shape& i, double) { return i[0] == 2 && i[1] >= 8 && i[1] < 16 && i[2] >= 10 && i[2] < 20; },
       "dimension 0 is 2 and dimension 1 is 8 to 15 and dimension 2 is 10 to 19"});
  expect_rule(
      {{50, 100}, [](const Shape& i, double) { return i[1] >= 32 && i[1] < 48; }, "dimension 1 is 32 to 47"});
  const auto rule = [] {
    Mask set(50 * 30);
    for (std::uint64_t e = 0; e < set.size(); ++e)
      if (e != 700) set.set(e);
    return smallest_rule({50, 30}, set, {});
  }();
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->text, "everywhere");
}

TEST(Rule, JoinsTwoConditions) {
  expect_rule({{2, 6, 5, 7}, [](const Shape& i, double x) { return x < 0 && i[1] != 0; }, " and "});
  expect_rule({{4, 8, 33}, [](const Shape& i, double x) { return x > 0 && i[2] >= 32; }, " and "});
}

TEST(Rule, OfALargeTensorFromASample) {
  expect_rule(
      {{64, 64, 300}, [](const Shape& i, double) { return i[2] >= 296; }, "dimension 2 is 296 or more"});
  expect_rule({{64, 64, 300}, [](const Shape& i, double x) { return x < 0 && i[0] == 5; }, " and "});
}

TEST(Rule, SaysNothingOfWhatIsScattered) {
  for (const double share : {0.003, 0.1, 0.5, 0.8}) {
    std::mt19937_64 random(3);
    Mask set(5000);
    for (std::uint64_t i = 0; i < 5000; ++i)
      if (std::generate_canonical<double, 53>(random) < share) set.set(i);
    const std::vector<double> x = normal(5000, 8);
    const auto rule = smallest_rule({50, 100}, set, {{"a", [&](std::uint64_t i) { return x[i]; }}});
    EXPECT_FALSE(rule) << share << ": " << rule->text;
  }
  EXPECT_FALSE(smallest_rule({50, 100}, Mask(5000), {}));
}

// ---- Picture ----------------------------------------------------------------------------------------------

// A sample of one in sixty has, of five elements, the one in the set and perhaps none of the others that a rule names as well.
TEST(Rule, IsCountedOnTheWholeTensor) {
  const std::vector<double> x = normal(1 << 21, 7);
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return x[i]; });
  const Values values{"a", [&](std::uint64_t i) { return x[i]; }};
  for (const std::size_t rank : {2, 4, 6}) {
    Mask set(x.size());
    set.set(order[rank]);
    const auto rule = smallest_rule({1 << 21}, set, {values});
    EXPECT_FALSE(rule && rule->text.starts_with("a is ") && rule->precision > 1.0 / static_cast<double>(rank))
        << rule->text;
  }
  // One that holds is still found, and its share is no estimate.
  Mask large(x.size());
  std::size_t above = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    above += x[i] > 0 ? 1 : 0;
    if (x[i] > 0 && i != order[0]) large.set(i);
  }
  const auto rule = smallest_rule({1 << 21}, large, {values});
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->text, "a is above 0");
  EXPECT_EQ(rule->precision, static_cast<double>(above - 1) / static_cast<double>(above));
  EXPECT_EQ(rule->recall, 1);
}

TEST(Picture, ShowsWhereElementsAre) {
  Mask set(6 * 8);
  for (std::uint64_t i = 0; i < 48; ++i)
    if (i % 8 >= 6 || i / 8 == 2) set.set(i);
  const std::string text = to_text(picture({2, 3, 8}, set, 16, 96), "");
  EXPECT_EQ(text,
            "|      ##|\n|      ##|\n|########|\n|      ##|\n|      ##|\n|      ##|\n"
            "down: dimensions 0 to 1 (6); across: dimension 2 (8)\n");
}

TEST(Picture, CellsStandForManyElements) {
  Mask set(100 * 200);
  for (std::uint64_t i = 0; i < set.size(); ++i)
    if (i / 200 < 50 || i % 200 == 199) set.set(i);
  const Picture p = picture({100, 200}, set, 4, 10);
  ASSERT_EQ(p.rows, 4u);
  ASSERT_EQ(p.columns, 10u);
  EXPECT_EQ(p.share[0], 1);
  EXPECT_EQ(p.share[20], 0);
  EXPECT_EQ(p.share[39], 0.05F);
  EXPECT_THAT(to_text(p, "  "), HasSubstr("  |         .|\n"));
}

TEST(Picture, TakesListsScalarsAndEmptyTensors) {
  Mask list(130), one(1);
  list.set(129);
  one.set(0);
  EXPECT_EQ(picture({130}, list, 16, 96).rows, 3u);
  EXPECT_THAT(to_text(picture({}, one, 16, 96), ""), HasSubstr("|#|"));
  EXPECT_EQ(to_text(picture({0, 4}, Mask(0), 16, 96), ""), "");
}

TEST(Picture, IsDrawnAsSvg) {
  Mask set(12);
  set.set(5);
  const std::string svg = to_svg({{"a < b & c", picture({3, 4}, set, 16, 16)}});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_THAT(svg, HasSubstr("a &#60; b &#38; c"));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"1.00\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(to_svg(std::vector<Drawn>{}), HasSubstr("Nothing to draw"));
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
  EXPECT_THAT(diff({path("a") + ":", file}).err, HasSubstr("no tensor is named behind the colon"));
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

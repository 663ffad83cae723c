// Raw bytes whose rows lie farther apart than they are long, or that have a header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "harness/diff/pitch.h"
#include "harness/diff/rearranged.h"
#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"
#include "tensors_bytes.h"

namespace assay::diff {
namespace {

using ::testing::HasSubstr;

std::vector<float> numbers(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> draw;
  std::vector<float> all(n);
  for (float& x : all) x = draw(random);
  return all;
}

// Rows of so many elements, each padded to `pitch` by `padding`, after a header of so many bytes.
std::string padded(const std::vector<float>& x, std::size_t row, std::size_t pitch, std::size_t header = 0,
                   float padding = 7) {
  std::vector<float> all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    all.push_back(x[i]);
    if (i % row == row - 1) all.insert(all.end(), pitch - row, padding);
  }
  return std::string(header, 'h') + raw(all);
}

std::optional<std::string> pitch_of(const std::vector<float>& right, const Shape& shape,
                                    const std::string& bytes) {
  return pitched({std::as_bytes(std::span(right)), Dtype::f32}, shape, std::as_bytes(std::span(bytes)),
                 Dtype::f32);
}

TEST(Pitch, IsFoundAndNamed) {
  const std::vector<float> x = numbers(480, 1);
  EXPECT_EQ(pitch_of(x, {8, 60}, padded(x, 60, 64)), "its rows are 64 elements apart, not 60");
  EXPECT_EQ(pitch_of(x, {8, 60}, padded(x, 60, 64).substr(0, 4 * (7 * 64 + 60))),
            "its rows are 64 elements apart, not 60");
  EXPECT_EQ(pitch_of(x, {8, 60}, padded(x, 60, 64, 13)),
            "its rows are 64 elements apart, not 60, and the first begins at byte 13");
  EXPECT_EQ(pitch_of(x, {8, 6, 10}, padded(x, 60, 100)),
            "its parts of shape [6x10] are 100 elements apart, not 60");
  EXPECT_EQ(pitch_of(x, {8, 60}, padded(x, 60, 64).substr(0, 4 * 480)),
            "its rows are 64 elements apart, not 60; the last 112 bytes of it are missing");
}

TEST(Pitch, AHeaderIsFoundAndNamed) {
  const std::vector<float> x = numbers(480, 2);
  EXPECT_EQ(pitch_of(x, {8, 60}, std::string(40, 'h') + raw(x)), "its numbers begin at byte 40");
  EXPECT_EQ(pitch_of(x, {480}, std::string(5, 'h') + raw(x) + "more"), "its numbers begin at byte 5");
  EXPECT_EQ(pitch_of(x, {8, 60}, (std::string(40, 'h') + raw(x)).substr(0, 4 * 480)),
            "its numbers begin at byte 40");
  EXPECT_EQ(pitch_of(x, {8, 60}, raw(x) + std::string(10, 't')), "after its numbers, 10 more bytes follow");
}

// What the contents do not prove.
TEST(Pitch, IsNotClaimedOfOtherNumbers) {
  const std::vector<float> x = numbers(480, 3), y = numbers(512, 4), ones(480, 1.0F);
  EXPECT_FALSE(pitch_of(x, {8, 60}, raw(x)));
  EXPECT_FALSE(pitch_of(x, {8, 60}, raw(y)));
  EXPECT_FALSE(pitch_of(ones, {8, 60}, padded(ones, 60, 64)));
  // One row of eight is where it would be, and a hundredth of the elements are others.
  std::string one_row = raw(y);
  one_row.replace(0, 240, raw(x).substr(0, 240));
  EXPECT_FALSE(pitch_of(x, {8, 60}, one_row));
  std::vector<float> nearly = x;
  for (std::size_t i = 0; i < nearly.size(); i += 100) nearly[i] += 1;
  EXPECT_FALSE(pitch_of(x, {8, 60}, padded(nearly, 60, 64)));
}

TEST(Pitch, OfTheSameSizeItIsARearrangement) {
  const std::vector<float> x = numbers(480, 5);
  const std::string cut = padded(x, 60, 64).substr(0, 4 * 480);
  EXPECT_EQ(rearranged({std::as_bytes(std::span(x)), Dtype::f32}, {8, 60},
                       {std::as_bytes(std::span(cut)), Dtype::f32}, {8, 60}),
            "its rows are 64 elements apart, not 60; the last 112 bytes of it are missing");
}

// From end to end, in `diff` and `diagnose`.
class PitchCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    save("x.npy", npy("<f4", "(8, 60)", raw(x_), false));
    std::vector<float> y = x_;
    for (float& e : y) e = std::max(e, 0.0F);
    save("y.npy", npy("<f4", "(8, 60)", raw(y), false));
    save("padded.bin", padded(y, 60, 64));
    save("header.bin", std::string(40, 'h') + raw(y));
    save("cut.bin", padded(y, 60, 64).substr(0, 4 * 480));
  }
  void save(const std::string& name, const std::string& data) const {
    std::ofstream(folder_.file(name), std::ios::binary) << data;
  }
  Finished of(const std::string& command, const std::string& file, const std::string& shape) const {
    const std::string raw_file = "raw:f32[" + shape + "]@" + folder_.file(file);
    if (command == "diff") return run_program(ASSAY_PROGRAM, {"diff", folder_.file("y.npy"), raw_file});
    return run_program(ASSAY_PROGRAM, {"diagnose", "--op", "relu", "--arg", "self=@" + folder_.file("x.npy"),
                                       "--actual", raw_file});
  }

  TemporaryFolder folder_;
  std::vector<float> x_ = numbers(480, 6);
};

TEST_F(PitchCommand, SaysWhyARawFileHasAnotherSize) {
  for (const char* command : {"diff", "diagnose"}) {
    const Finished wide = of(command, "padded.bin", "8x60"), late = of(command, "header.bin", "8x60");
    EXPECT_EQ(wide.status, 2) << wide.out;
    EXPECT_THAT(wide.err, HasSubstr("and the file has 2048; its rows are 64 elements apart, not 60"));
    EXPECT_EQ(late.status, 2) << late.out;
    EXPECT_THAT(late.err, HasSubstr("and the file has 1960; its numbers begin at byte 40"));
  }
  EXPECT_THAT(of("diagnose", "padded.bin", "8x64").err, HasSubstr("its rows are 64 elements apart, not 60"));
  const Finished other = of("diff", "padded.bin", "8x64");
  EXPECT_EQ(other.status, 1) << other.err;
  EXPECT_THAT(other.out, HasSubstr("B is A rearranged: its rows are 64 elements apart, not 60"));
}

TEST_F(PitchCommand, NamesItWhereTheSizeIsRight) {
  const Finished f = of("diagnose", "cut.bin", "8x60");
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_THAT(f.out, HasSubstr("Result rearranged"));
  EXPECT_THAT(f.out, HasSubstr("its rows are 64 elements apart, not 60"));
}

}  // namespace
}  // namespace assay::diff

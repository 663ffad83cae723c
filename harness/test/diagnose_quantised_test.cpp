// `assay diagnose`: tensors that a kernel keeps in few bits, as the engines that do so compute them, and formulas of other layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "diagnose_experiment.h"
#include "harness/diagnose/change.h"

namespace assay::diagnose {
namespace {

using ::testing::HasSubstr;

// What a linear layer of 128 inputs makes of weights that are others, in f32.
class Quantised : public ::testing::Test {
 protected:
  template <class Weights>
  std::string cause(const Weights& of_row) {
    std::vector<std::vector<double>> rows;
    for (std::int64_t o = 0; o < 16; ++o) {
      std::vector<double> row;
      for (std::int64_t k = 0; k < 128; ++k) row.push_back(e.tensor(1).get(o * 128 + k));
      of_row(row);
      rows.push_back(row);
    }
    e.fill([&](std::int64_t i) {
      float sum = 0;
      for (std::size_t k = 0; k < 128; ++k)
        sum += static_cast<float>(e.tensor(0).get(i / 16 * 128 + static_cast<std::int64_t>(k))) *
               static_cast<float>(rows[static_cast<std::size_t>(i % 16)][k]);
      return static_cast<double>(sum);
    });
    const Diagnosis d = e.diagnosis();
    said = to_text(d, Style(false));
    return first_cause(d);
  }

  // Each 32 of a row: the largest magnitude's element, and a change of each number.
  template <class Change>
  std::string in_blocks(const Change& change) {
    return cause([&](std::vector<double>& row) {
      for (std::size_t b = 0; b < row.size(); b += 32) {
        double most = 0;
        for (std::size_t k = b; k < b + 32; ++k)
          if (std::fabs(row[k]) > std::fabs(most)) most = row[k];
        for (std::size_t k = b; k < b + 32; ++k) row[k] = change(row[k], most);
      }
    });
  }

  Experiment e{"linear:f32:input=8x128,weight=16x128,bias=none:data=normal:seed=3"};
  std::string said;
};

// Of so many bits after the first one, and no smaller than the least that is written with them all.
double in_bits(double x, int bits, int least_exponent, double most) {
  if (x == 0) return 0;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), least_exponent) - bits);
  return std::clamp(std::nearbyint(x / step) * step, -most, most);
}
double to_e4m3(double x) { return in_bits(x, 3, -6, 448); }
double in_half(double x) { return in_bits(x, 10, -14, 65504); }

TEST_F(Quantised, WithoutAScale) {
  EXPECT_EQ(cause([](std::vector<double>& row) {
              for (double& x : row) x = to_e4m3(x);
            }),
            "weight.as_f8e4m3")
      << said;
  EXPECT_EQ(cause([](std::vector<double>& row) {
              for (double& x : row) x = in_bits(x, 2, -14, 57344);
            }),
            "weight.as_f8e5m2")
      << said;
}

TEST_F(Quantised, InFloatsWithAScaleForEachRow) {
  EXPECT_EQ(cause([](std::vector<double>& row) {
              double most = 0;
              for (const double x : row) most = std::max(most, std::fabs(x));
              for (double& x : row) x = to_e4m3(x * 448 / most) * (most / 448);
            }),
            "weight.as_f8e4m3_by_first_dimension")
      << said;
}

TEST_F(Quantised, InBlocks) {
  EXPECT_EQ(in_blocks([](double x, double most) {
              const double scale = std::fabs(most) / 7;
              return std::nearbyint(x / scale) * scale;
            }),
            "weight.as_int4_by_blocks_of_32")
      << said;
  EXPECT_EQ(in_blocks([](double x, double most) {
              const double scale = std::ldexp(1.0, std::ilogb(most) - 8);
              return to_e4m3(x / scale) * scale;
            }),
            "weight.as_mxfp8")
      << said;
  EXPECT_EQ(in_blocks([](double x, double most) {
              const double scale = std::ldexp(1.0, std::ilogb(most) - 2);
              return in_bits(x / scale, 1, 0, 6) * scale;
            }),
            "weight.as_mxfp4")
      << said;
}

TEST_F(Quantised, InIntegersOfOtherKinds) {
  const auto in_groups = [&](std::size_t size, const auto& change) {
    return cause([&](std::vector<double>& row) {
      for (std::size_t b = 0; b < row.size(); b += size) {
        const auto begin = row.begin() + static_cast<std::ptrdiff_t>(b),
                   end = begin + static_cast<std::ptrdiff_t>(size);
        const double least = *std::min_element(begin, end), most = *std::max_element(begin, end);
        for (auto x = begin; x != end; ++x) *x = change(*x, least, most);
      }
    });
  };
  EXPECT_EQ(in_groups(16,
                      [](double x, double least, double most) {
                        const double scale = std::max(-least, most) / 7;
                        return std::nearbyint(x / scale) * scale;
                      }),
            "weight.as_int4_by_blocks_of_16")
      << said;
  EXPECT_EQ(in_groups(128,
                      [](double x, double least, double most) {
                        const double scale = (most - least) / 15, zero = std::nearbyint(-least / scale);
                        return (std::clamp(std::nearbyint(x / scale) + zero, 0.0, 15.0) - zero) * scale;
                      }),
            "weight.as_int4_with_a_zero_point_by_first_dimension")
      << said;
  EXPECT_EQ(in_groups(64,
                      [](double x, double least, double most) {
                        const double scale = (most - least) / 7;
                        return std::nearbyint((x - least) / scale) * scale + least;
                      }),
            "weight.as_int3_above_the_least_by_blocks_of_64")
      << said;
  EXPECT_EQ(in_groups(32,
                      [](double x, double least, double most) {
                        const double scale = (most - least) / 15;
                        return std::min(15.0, std::floor((x - least) / scale + 0.5)) * in_half(scale) +
                               in_half(least);
                      }),
            "weight.as_q4_1")
      << said;
}

TEST_F(Quantised, AsGgmlKeepsThem) {
  EXPECT_EQ(in_blocks([](double x, double most) {
              const double scale = std::fabs(most) / 127;
              return std::round(x / scale) * in_half(scale);
            }),
            "weight.as_q8_0")
      << said;
  EXPECT_EQ(in_blocks([](double x, double most) {
              const double scale = most / -8;
              return (std::min(15.0, std::floor(x / scale + 8.5)) - 8) * in_half(scale);
            }),
            "weight.as_q4_0")
      << said;
}

// ---- Of other layers ---------------------------------------------------------------------------------------------

std::string cause_of(Experiment& e) { return first_cause(e.diagnosis()); }

TEST(DiagnoseOtherLayers, ResultsMayBeThoseOfAnotherOperatorOfTensorsWithOtherNames) {
  Experiment e("mm:f32:self=9x9,mat2=9x9:data=normal:seed=3");
  e.fill([&](std::int64_t i) { return e.tensor(0).get(i) * e.tensor(1).get(i); });
  const Diagnosis d = e.diagnosis();
  EXPECT_THAT(to_text(d, Style(false)), HasSubstr("gives the result of mul.Tensor(self, mat2)"));
}

TEST(DiagnoseOtherLayers, AQuotientMayBeRoundedToAWholeNumber) {
  Experiment e("div.Tensor:f32:self=300,other=300:data=normal:seed=3");
  const auto quotient = [&](std::int64_t i) { return e.tensor(0).get(i) / e.tensor(1).get(i); };
  e.fill([&](std::int64_t i) { return std::floor(quotient(i)); });
  EXPECT_THAT(to_text(e.diagnosis(), Style(false)),
              HasSubstr("div.Tensor_mode(self, other, rounding_mode=floor)"));
  e.fill([&](std::int64_t i) { return std::trunc(quotient(i)); });
  EXPECT_THAT(to_text(e.diagnosis(), Style(false)),
              HasSubstr("div.Tensor_mode(self, other, rounding_mode=trunc)"));
}

TEST(DiagnoseOtherLayers, AMaskMayBeLeftOnAProduct) {
  Experiment e("mm:f32:self=12x9,mat2=9x12:data=normal:seed=3");
  const auto product = [&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 9; ++k)
      sum += e.tensor(0).get(i / 12 * 9 + k) * e.tensor(1).get(k * 12 + i % 12);
    return sum;
  };
  e.fill([&](std::int64_t i) { return i % 12 > i / 12 ? 0 : product(i); });
  EXPECT_EQ(cause_of(e), "results.right_of_the_diagonal_lost");
  e.fill([&](std::int64_t i) { return i % 12 > i / 12 ? -HUGE_VAL : product(i); });
  EXPECT_EQ(cause_of(e), "results.right_of_the_diagonal_masked");
  e.fill([&](std::int64_t i) { return i % 12 >= i / 12 ? 0 : product(i); });
  EXPECT_EQ(cause_of(e), "results.right_of_the_diagonal_and_on_it_lost");
  // A fault that nobody knows is where it is.
  e.fill([&](std::int64_t i) {
    return i % 12 > i / 12 ? 0.3 + std::fmod(7.7 * static_cast<double>(i), 1) : product(i);
  });
  EXPECT_THAT(to_text(e.diagnosis(), Style(false)), HasSubstr("dimension 1 is greater than dimension 0"));
}

TEST(DiagnoseOtherLayers, LogitsMayBeCappedSoftly) {
  Experiment e("linear:f32:input=8x32,weight=16x32,bias=none:data=normal:seed=3");
  for (const double cap : {30.0, 5.0, 2.5}) {
    e.fill([&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t k = 0; k < 32; ++k)
        sum += e.tensor(0).get(i / 16 * 32 + k) * e.tensor(1).get(i % 16 * 32 + k);
      return cap * std::tanh(sum / cap);
    });
    const Diagnosis d = e.diagnosis();
    EXPECT_THAT(to_text(d, Style(false)), HasSubstr(fmt::format("{0:.6g} tanh(x / {0:.6g})", cap)));
  }
}

TEST(DiagnoseOtherLayers, ReductionsMayBeOtherOnes) {
  Experiment sum("sum.dim_IntList:f32:self=12x33,dim=[1]:data=normal:seed=3");
  const auto over = [](Experiment& e, auto of) {
    return [&e, of](std::int64_t row) {
      double all = 0;
      for (std::int64_t k = 0; k < 33; ++k) all += of(e.tensor(0).get(row * 33 + k), row);
      return all;
    };
  };
  const auto square = over(sum, [](double x, std::int64_t) { return x * x; });
  sum.fill([&](std::int64_t i) { return std::sqrt(square(i)); });
  EXPECT_EQ(cause_of(sum), "formula.length");
  const auto exponential = over(sum, [](double x, std::int64_t) { return std::exp(x); });
  sum.fill([&](std::int64_t i) { return std::log(exponential(i)); });
  EXPECT_EQ(cause_of(sum), "formula.log_of_exponentials");

  Experiment mean("mean.dim:f32:self=12x33,dim=[1]:data=normal:seed=3");
  auto& self = std::get<TensorData>(mean.call.arguments[0]);
  for (std::int64_t i = 0; i < self.numel(); i += 3) self.set(i, 0);
  const auto squares = over(mean, [](double x, std::int64_t) { return x * x; });
  mean.fill([&](std::int64_t i) { return std::sqrt(squares(i) / 33); });
  EXPECT_EQ(cause_of(mean), "formula.root_of_squares");
  const auto sums = over(mean, [](double x, std::int64_t) { return x; });
  const auto others = over(mean, [](double x, std::int64_t) { return x != 0 ? 1 : 0; });
  mean.fill([&](std::int64_t i) { return sums(i) / others(i); });
  EXPECT_EQ(cause_of(mean), "formula.of_those_not_zero");

  Experiment var("var.correction:f32:self=12x33,dim=[1]:data=normal:seed=3");
  const auto totals = over(var, [](double x, std::int64_t) { return x; });
  const auto distance =
      over(var, [&](double x, std::int64_t row) { return std::fabs(x - totals(row) / 33); });
  var.fill([&](std::int64_t i) { return distance(i) / 33; });
  EXPECT_EQ(cause_of(var), "formula.mean_deviation");
}

// Formulas that begin with the first element have none here.
TEST(DiagnoseOtherLayers, SumsMayHaveNoTerms) {
  for (const char* text : {"sum.dim_IntList:f32:self=3x0,dim=[1]", "sum.dim_IntList:i64:self=3x0,dim=[1]",
                           "mean.dim:f32:self=3x0,dim=[1]", "var.correction:f32:self=3x0,dim=[1]"}) {
    Experiment e(text);
    e.fill([](std::int64_t) { return 2; });
    EXPECT_THAT(to_text(e.diagnosis(), Style(false)), HasSubstr("3 of 3 elements diverge")) << text;
  }
}

TEST(DiagnoseOtherLayers, AnExclusiveSumMayBeADifference) {
  Experiment e("cumsum:f32:self=7x33,dim=1:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    float sum = 0;
    for (std::int64_t k = i / 33 * 33; k <= i; ++k) sum += static_cast<float>(e.tensor(0).get(k));
    return static_cast<double>(sum - static_cast<float>(e.tensor(0).get(i)));
  });
  EXPECT_THAT(cause_of(e), ::testing::StartsWith("formula.exclusive"))
      << to_text(e.diagnosis(), Style(false));
}

TEST(DiagnoseOtherLayers, AnImageMayBeRepeatedInPlaceOfItsElements) {
  Experiment e("upsample_nearest2d:f32:self=2x3x8x9,output_size=[16,18]:data=normal:seed=3");
  const auto source = [](std::int64_t i, auto row, auto column) {
    return (i / 288 * 8 + row(i / 18 % 16)) * 9 + column(i % 18);
  };
  e.fill([&](std::int64_t i) {
    return e.tensor(0).get(source(
        i, [](std::int64_t y) { return y % 8; }, [](std::int64_t x) { return x % 9; }));
  });
  EXPECT_EQ(cause_of(e), "formula.tiled");
  const auto half = [](std::int64_t y) { return y / 2; };
  e.fill([&](std::int64_t i) {
    return i % 2 != 0 || i / 18 % 2 != 0 ? 0 : e.tensor(0).get(source(i, half, half));
  });
  EXPECT_EQ(cause_of(e), "formula.zeros_between");
}

TEST(DiagnoseOtherLayers, RowsOfATableMayBeKeptShort) {
  Experiment e("embedding:f32:weight=20x8,indices=i64[5x4]:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const auto row = static_cast<std::int64_t>(e.tensor(1).get(i / 8));
    double squares = 0;
    for (std::int64_t k = 0; k < 8; ++k)
      squares += e.tensor(0).get(row * 8 + k) * e.tensor(0).get(row * 8 + k);
    return e.tensor(0).get(row * 8 + i % 8) / std::max(1.0, std::sqrt(squares));
  });
  EXPECT_EQ(cause_of(e), "formula.no_longer_than_1") << to_text(e.diagnosis(), Style(false));
}

TEST(DiagnoseOtherLayers, AConvolutionMayLookAtTheMiddleAlone) {
  Experiment e(
      "convolution:f32:input=1x4x9x9,weight=6x4x3x3,bias=none,stride=[1,1],padding=[0,0],dilation=[1,1],transposed="
      "false,output_padding=[0,0],groups=1:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t c = 0; c < 4; ++c)
      sum += e.tensor(0).get((c * 9 + i / 7 % 7 + 1) * 9 + i % 7 + 1) *
             e.tensor(1).get((i / 49 * 4 + c) * 9 + 4);
    return sum;
  });
  EXPECT_EQ(cause_of(e), "weight.middle_alone") << to_text(e.diagnosis(), Style(false));
}

TEST(DiagnoseOtherLayers, ACubeMayBeASquare) {
  Experiment e("gelu:f32:self=300:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const double x = e.tensor(0).get(i);
    return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x)));
  });
  EXPECT_EQ(cause_of(e), "formula.square_for_cube");
}

// What an engine has of a weight, to the last bit: integers times a scale in f32.
TEST(DiagnoseQuantised, AWeightInIntegersIsKnownToTheLastBit) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const bool by_row : {false, true}) {
    TensorData before(Dtype::f32, {16, 24}), after(Dtype::f32, {16, 24});
    for (std::int64_t i = 0; i < before.numel(); ++i) before.set(i, normal(random));
    const std::int64_t group = by_row ? 24 : before.numel();
    for (std::int64_t first = 0; first < before.numel(); first += group) {
      float most = 0;
      for (std::int64_t i = first; i < first + group; ++i)
        most = std::max(most, static_cast<float>(std::fabs(before.get(i))));
      const float scale = most / 127;
      for (std::int64_t i = first; i < first + group; ++i)
        after.set(i, std::nearbyint(static_cast<float>(before.get(i)) / scale) * scale);
    }
    EXPECT_THAT(change(before, after),
                HasSubstr(by_row ? "self.as_int8_by_first_dimension" : "self.as_int8_per_tensor"));
  }
}

TEST(DiagnoseOtherLayers, AHardswishMayGoOnToRise) {
  Experiment e("hardswish:f32:self=300:data=wide:seed=3");
  e.fill([&](std::int64_t i) {
    const double x = e.tensor(0).get(i);
    return x * std::max(x + 3, 0.0) / 6;
  });
  EXPECT_EQ(cause_of(e), "formula.without_upper_end") << to_text(e.diagnosis(), Style(false));
}

TEST(DiagnoseOtherLayers, GroupsOfAConvolutionMayTakeOutputChannelsInTurn) {
  Experiment e(
      "convolution:f32:input=2x6x5x5,weight=6x2x1x1,bias=none,stride=[1,1],padding=[0,0],dilation=[1,1],transposed="
      "false,output_padding=[0,0],groups=3:data=normal:seed=3");
  e.fill([&](std::int64_t i) {
    const std::int64_t image = i / 150, o = i / 25 % 6, group = o % 3;
    double sum = 0;
    for (std::int64_t c = 0; c < 2; ++c)
      sum += e.tensor(0).get((image * 6 + group * 2 + c) * 25 + i % 25) * e.tensor(1).get(o * 2 + c);
    return sum;
  });
  EXPECT_EQ(cause_of(e), "formula.outputs_in_turn") << to_text(e.diagnosis(), Style(false));
}

}  // namespace
}  // namespace assay::diagnose

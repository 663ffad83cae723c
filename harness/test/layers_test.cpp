// The calls of networks as cases: the lists themselves, and what is made of them.
#include "../generate/layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "../generate/cases.h"
#include "../generate/check_case.h"
#include "../generate/data.h"
#include "../generate/layer_lists.h"
#include "../generate/tensor_copy.h"
#include "../generate/windows.h"
#include "ops/convolution.h"
#include "ops/max_pool2d.h"
#include "ops/mm.h"
#include "vocabulary/operators.h"

namespace assay::test {
namespace {

using Ints = std::vector<std::int64_t>;

bool is_toy(const Operator& op) {
  return op.schema.name.find("toy") != std::string_view::npos;
}  // of other tests

TEST(Layers, EveryOperatorHasSomeAndAllAreAllowed) {
  for (const Operator* op : operators()) {
    if (is_toy(*op)) continue;
    EXPECT_FALSE(layers_of(*op).empty()) << op->schema.name;
    for (const Case& c : layers_of(*op)) {
      const Checked checked = check_case(c);
      EXPECT_TRUE(checked.ok()) << text(c) << ": " << checked.error;
    }
  }
}

TEST(Layers, NoLineNamesAnOperatorThatThereIsNot) {
  for (std::string_view rest : layer_lists())
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.empty() || line.front() == '#') continue;
      EXPECT_NE(find_operator(line.substr(0, line.find(':'))), nullptr) << line;
    }
}

TEST(Layers, AreAllowedAndSmallForEveryDtype) {
  for (const Operator* op : operators())
    for (int d = 0; d < kDtypes; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (is_toy(*op) || !op->dtypes.contains(dtype)) continue;
      int made = 0;
      for (std::uint64_t number = 0; number < 300; ++number) {
        Draw draw(number + 17);
        const std::optional<Case> c = draw_layer(draw, *op, dtype, number);
        if (!c) continue;
        ++made;
        ASSERT_TRUE(check_case(*c).ok()) << text(*c);
        for (const TensorSpec* t : tensors_of(*c)) EXPECT_LE(numel(t->shape), 4 << 20) << text(*c);
      }
      EXPECT_GE(made, 200) << op->schema.name << " " << name(dtype);
    }
}

// A scalar that only floating-point numbers have, as -1e9 under a mask, is one of theirs in integers. With it no layer would
// be left of the first round, which has them as they are.
TEST(Layers, IntegersHaveTheFirstRoundToo) {
  for (const Operator* op : operators())
    for (int d = 0; d < kDtypes; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (is_toy(*op) || !op->dtypes.contains(dtype) || is_float(dtype)) continue;
      for (std::uint64_t number = 0; number < layers_of(*op).size(); ++number) {
        const auto scalar = [](const Argument& a) { return a.type == Type::scalar; };
        if (std::ranges::none_of(op->schema.arguments(), scalar)) continue;
        Draw draw(number);
        EXPECT_TRUE(draw_layer(draw, *op, dtype, number).has_value())
            << text(layers_of(*op)[number]) << " in " << name(dtype);
      }
    }
}

// Of 250 cases: windows with their stride, padding and dilation as people use them, in one group and depthwise.
std::set<std::string> convolutions(std::uint64_t seed) {
  std::set<std::string> found;
  for (std::uint64_t i = 0; i < 250; ++i) {
    const Case c = generate(ops::convolution, Dtype::f32, seed, i);
    const auto& weight = std::get<TensorSpec>(c.arguments[1]).shape;
    if (weight.size() != 4 || weight[2] != weight[3] || std::get<bool>(c.arguments[6])) continue;
    const auto first = [&](std::size_t k) { return std::get<Ints>(c.arguments[k]).front(); };
    const std::int64_t groups = std::get<std::int64_t>(c.arguments[8]);
    found.insert(std::to_string(weight[2]) + " s" + std::to_string(first(3)) + " p" +
                 std::to_string(first(4)) + " d" + std::to_string(first(5)) +
                 (groups == 1      ? ""
                  : weight[1] == 1 ? " depthwise"
                                   : " groups"));
  }
  return found;
}

TEST(Layers, OrdinaryConvolutionsAreMetInEveryRun) {
  for (const std::uint64_t seed : {0, 1, 2, 77}) {
    const std::set<std::string> found = convolutions(seed);
    for (const char* ordinary :
         {"3 s1 p1 d1", "3 s2 p1 d1", "1 s1 p0 d1", "1 s2 p0 d1", "5 s1 p2 d1", "7 s2 p3 d1", "3 s1 p2 d2",
          "3 s1 p1 d1 depthwise", "3 s2 p1 d1 depthwise", "3 s1 p1 d1 groups"})
      EXPECT_TRUE(found.contains(ordinary)) << ordinary << ", seed " << seed;
  }
}

// What beta = 0 multiplies must not be read, and NaN there alone shows who reads it.
TEST(Layers, EveryRunHasBetaZeroBesideNumbersThatAreNotFinite) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    int met = 0;
    for (std::uint64_t i = 0; i < 250; ++i) {
      const Case c = generate(ops::addmm, Dtype::f32, seed, i);
      if (c.data != "special" || text(c).find("beta=0") == std::string::npos) continue;
      const Call call = materialise(c);
      const auto finite = [&](std::size_t k) {
        const auto& t = std::get<TensorData>(call.arguments[k]);
        for (std::int64_t n = 0; n < t.numel(); ++n)
          if (!std::isfinite(t.get(n))) return false;
        return true;
      };
      if (finite(1) && finite(2) && !finite(0)) ++met;
    }
    EXPECT_GE(met, 1) << "seed " << seed;
  }
}

// Rows of networks' images are whole vectors, at stride 2 as well; an eighth of them is not.
TEST(Layers, RowsOfResultsEndWithAWholeVectorInEveryRun) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    int met = 0;
    for (std::uint64_t i = 0; i < 250; ++i) {
      const Case c = generate(ops::convolution, Dtype::f32, seed, i);
      const auto& weight = std::get<TensorSpec>(c.arguments[1]).shape;
      if (weight.size() != 4 || weight[2] != 3 || weight[3] != 3 ||
          std::get<Ints>(c.arguments[3]).front() != 2)
        continue;
      const Checked checked = check_case(c);
      if (checked.ok() && checked.outputs[0].shape[3] > 0 && checked.outputs[0].shape[3] % 8 == 0) ++met;
    }
    EXPECT_GE(met, 1) << "seed " << seed;
  }
}

// Inception's and their kin: 1x3, 7x1, and with even sides.
TEST(Layers, WindowsOfOneRowOrColumnAreMetInEveryRun) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    int rows = 0, columns = 0, even = 0;
    for (std::uint64_t i = 0; i < 250; ++i) {
      const Case c = generate(ops::convolution, Dtype::f32, seed, i);
      const auto& weight = std::get<TensorSpec>(c.arguments[1]).shape;
      if (weight.size() != 4 || (weight[2] == 1) == (weight[3] == 1)) continue;
      ++(weight[2] == 1 ? rows : columns);
      if (std::max(weight[2], weight[3]) % 2 == 0) ++even;
    }
    EXPECT_GE(rows, 1) << "seed " << seed;
    EXPECT_GE(columns, 1) << "seed " << seed;
    EXPECT_GE(even, 1) << "seed " << seed;
  }
}

// An even window has no middle: what is put around it is one more on one side, and its half in networks.
TEST(Layers, WindowsOfOneRowMeetHalfOfThemAsPaddingInEveryRun) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    int even = 0;
    for (std::uint64_t i = 0; i < 250; ++i) {
      const Case c = generate(ops::convolution, Dtype::f32, seed, i);
      const auto& weight = std::get<TensorSpec>(c.arguments[1]).shape;
      const auto& padding = std::get<Ints>(c.arguments[4]);
      if (weight.size() == 4 && weight[2] == 1 && weight[3] % 2 == 0 && padding == Ints{0, weight[3] / 2})
        ++even;
    }
    EXPECT_GE(even, 1) << "seed " << seed;
  }
}

TEST(Layers, ImagesAreSmallerThanTheirWindowInEveryRun) {
  for (const std::string_view name : {"convolution", "convolution_backward", "quantized_convolution",
                                      "max_pool2d", "avg_pool2d", "max_pool2d_with_indices"}) {
    const Operator& op = *find_operator(name);
    const Dtype dtype = op.dtypes.contains(Dtype::f32) ? Dtype::f32 : Dtype::u8;
    int met = 0;
    for (std::uint64_t i = 0; i < ladder_length(op); ++i) {
      const Case c = generate(op, dtype, 0, i);
      const std::vector<std::int64_t> window = window_of(c);
      const TensorSpec& input =
          std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(std::max(op.schema.find("input"), 0))]);
      if (window.size() == 2 && numel(input.shape) > 0 && window[1] > input.shape.back()) ++met;
    }
    EXPECT_GE(met, 1) << name;
  }
}

// Networks have multiples of 8: what is left over for a last vector, block or thread shows in others.
TEST(Layers, LargeResultsHaveARestInEveryRun) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    int elements = 0, terms = 0;
    for (std::uint64_t i = 0; i < 250; ++i) {
      const Shape relu = tensors_of(generate(*find_operator("relu"), Dtype::f32, seed, i))[0]->shape;
      if (numel(relu) >= 262'144 && numel(relu) % 8 != 0) ++elements;
      const Shape mm = tensors_of(generate(ops::mm, Dtype::f32, seed, i))[0]->shape;
      if (mm[1] >= 1024 && mm[1] % 256 != 0) ++terms;
    }
    EXPECT_GE(elements, 1) << "seed " << seed;
    EXPECT_GE(terms, 1) << "seed " << seed;
  }
}

TEST(Layers, LargeOnesAreLargeInEachDimension) {
  std::int64_t channels = 0;
  for (std::uint64_t i = 0; i < 250; ++i) {
    const Case c = generate(ops::convolution, Dtype::f32, 0, i);
    const auto& weight = std::get<TensorSpec>(c.arguments[1]).shape;
    if (weight.size() > 2) channels = std::max(channels, std::min(weight[0], weight[1]));
  }
  EXPECT_GE(channels, 32);
}

TEST(Layers, AGlobalPoolStaysGlobal) {
  int global = 0;
  for (std::uint64_t i = 0; i < 250; ++i) {
    const Case c = generate(ops::max_pool2d, Dtype::f32, 0, i);
    const auto& image = std::get<TensorSpec>(c.arguments[0]).shape;
    const auto& window = std::get<Ints>(c.arguments[1]);
    if (window.size() == 2 && image.size() == 4 && window[0] == image[2] && window[1] == image[3] &&
        window[0] > 2)
      ++global;
  }
  EXPECT_GE(global, 1);
}

}  // namespace
}  // namespace assay::test

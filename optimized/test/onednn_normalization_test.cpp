// oneDNN's normalisations against a loop in double. Numbers come in pairs around a mean, at a distance that is a power of
// two, and eps is 0: mean, variance and rstd are exact, and so is every result.
#ifdef ASSAY_HAVE_ONEDNN
#include "onednn_level.h"

namespace assay::onednn_test {
namespace {

class OnednnNorm : public OnednnLevel {};
INSTANTIATE_TEST_SUITE_P(Onednn, OnednnNorm, testing::Values("onednn.sse41", "onednn.avx2", "onednn.avx512"),
                         [](const auto& p) { return std::string(p.param).substr(7); });

// Results have no stride 0, and those of the input.
constexpr Layout kLayouts[] = {Layout::contiguous,   Layout::reversed, Layout::channels_last,
                               Layout::last_outside, Layout::step2,    Layout::padded_rows};

constexpr double kMeans[] = {3, -5, 0, 8, 1};
constexpr double kDistances[] = {0.25, 4, 1, 2};
double mean_of(std::int64_t row) { return kMeans[row % 5]; }
double distance_of(std::int64_t row) { return kDistances[row % 4]; }
// Element k of a row of an even number of elements, before it is normalised and after.
double normal(std::int64_t k) { return k % 2 == 0 ? 1 : -1; }
double element(std::int64_t row, std::int64_t k) { return mean_of(row) + distance_of(row) * normal(k); }

assay_value flag(bool x) {
  assay_value v{};
  v.kind = ASSAY_KIND_BOOL;
  v.count = 1;
  v.as.integer = x;
  return v;
}

TEST_P(OnednnNorm, LayerNormAgreesWithALoop) {
  if (!here("native_layer_norm")) return;
  struct Shape {
    Sizes input;
    std::size_t first;  // of the dimensions that are normalised
  };
  const Shape shapes[] = {{{4}, 0},          {{3, 2}, 1},       {{5, 34}, 1},      {{7, 128}, 1},
                          {{2, 3, 6}, 2},    {{2, 3, 2, 8}, 2}, {{3, 2, 4, 5}, 1}, {{2, 1, 3, 66}, 3},
                          {{2, 3, 2, 2}, 0}, {{0, 4}, 1}};
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64})
    for (const Shape& tried : shapes)
      for (const Layout layout : kLayouts)
        for (const bool affine : {false, true})
          for (const Layout weights : {Layout::contiguous, Layout::step2}) {
            const Sizes& sizes = tried.input;
            const std::size_t first = tried.first;
            Tensor x(dtype, sizes, layout), y(dtype, sizes, layout);
            const Sizes last(sizes.begin() + static_cast<std::ptrdiff_t>(first), sizes.end());
            Sizes statistics = sizes;
            std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(first), statistics.end(), 1);
            Tensor weight(dtype, last, weights), bias(dtype, last), mean(dtype, statistics),
                rstd(dtype, statistics);
            weight.fill(1), bias.fill(2);
            const std::int64_t n = weight.numel();
            for (std::int64_t i = 0; i < x.numel(); ++i) x.set(i, element(i / n, i % n));
            assay_value shape{};
            shape.kind = ASSAY_KIND_INTS;
            shape.count = static_cast<std::uint32_t>(last.size());
            shape.as.integers = last.data();
            if (!call({value(x), shape, affine ? value(weight) : none(), affine ? value(bias) : none(),
                       value(0.0)},
                      {&y, &mean, &rstd}))
              continue;
            for (std::int64_t i = 0; i < y.numel(); ++i)
              ASSERT_EQ(y.get(i),
                        affine ? normal(i % n) * weight.get(i % n) + bias.get(i % n) : normal(i % n))
                  << described() << " at " << i;
            for (std::int64_t r = 0; r < mean.numel(); ++r) {
              ASSERT_EQ(mean.get(r), mean_of(r)) << described() << " row " << r;
              ASSERT_EQ(rstd.get(r), 1 / distance_of(r)) << described() << " row " << r;
            }
          }
  EXPECT_GE(computed(), 60);
}

TEST_P(OnednnNorm, BatchNormAgreesWithALoop) {
  if (!here("native_batch_norm")) return;
  const Sizes shapes[] = {{4, 3},        {2, 16},       {2, 5, 6},       {2, 16, 9}, {2, 3, 4, 5},
                          {4, 16, 3, 3}, {2, 33, 1, 2}, {2, 8, 2, 3, 2}, {0, 3},     {2, 0, 3}};
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64})
    for (const Sizes& sizes : shapes)
      for (const Layout layout : kLayouts) {
        for (const bool training : {false, true})
          for (const bool affine : {false, true})
            for (const Layout weights : {Layout::contiguous, Layout::step2}) {
              Tensor x(dtype, sizes, layout), y(dtype, sizes, layout);
              const Sizes channels{sizes[1]}, none_of_them{0};
              Tensor weight(dtype, channels, weights), bias(dtype, channels), running_mean(dtype, channels),
                  running_var(dtype, channels), mean(dtype, training ? channels : none_of_them),
                  rstd(dtype, training ? channels : none_of_them);
              weight.fill(1), bias.fill(2);
              for (std::int64_t c = 0; c < sizes[1]; ++c) {
                running_mean.set(c, mean_of(c + 1));
                running_var.set(c, distance_of(c + 1) * distance_of(c + 1));
              }
              // Images of even numbers of elements, or even numbers of images, so that pairs are complete.
              const auto sign = [&](std::int64_t i) {
                const Sizes index = x.index_of(i);
                std::int64_t k = index[0];
                for (std::size_t d = 2; d < sizes.size(); ++d) k = k * sizes[d] + index[d];
                return normal(k);
              };
              const auto channel = [&](std::int64_t i) { return x.index_of(i)[1]; };
              for (std::int64_t i = 0; i < x.numel(); ++i)
                x.set(i, mean_of(channel(i)) + distance_of(channel(i)) * sign(i));
              if (!call({value(x), affine ? value(weight) : none(), affine ? value(bias) : none(),
                         training ? none() : value(running_mean), training ? none() : value(running_var),
                         flag(training), value(0.1), value(0.0)},
                        {&y, &mean, &rstd}))
                continue;
              for (std::int64_t i = 0; i < y.numel(); ++i) {
                const std::int64_t c = channel(i);
                double expected = sign(i);
                if (!training) expected = (x.get(i) - mean_of(c + 1)) / distance_of(c + 1);
                if (affine) expected = expected * weight.get(c) + bias.get(c);
                ASSERT_EQ(y.get(i), expected) << described() << " at " << i;
              }
              for (std::int64_t c = 0; c < mean.numel(); ++c) {
                ASSERT_EQ(mean.get(c), mean_of(c)) << described() << " channel " << c;
                ASSERT_EQ(rstd.get(c), 1 / distance_of(c)) << described() << " channel " << c;
              }
            }
      }
  EXPECT_GE(computed(), 100);
}

}  // namespace
}  // namespace assay::onednn_test
#endif

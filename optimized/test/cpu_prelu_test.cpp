// prelu and its backward at every level: layouts, slopes, sums whose bits depend on nothing but indices.
#include <omp.h>

#include "cpu_support.h"

namespace assay::test {
namespace {

const std::vector<Shape> kShapes{
    {},           {1},           {40},           {3, 5},       {5, 3},       {17, 33},       {2, 3, 4, 5},
    {3, 7, 1, 2}, {2, 64, 3, 3}, {600, 5},       {5, 600},     {0, 3},       {3, 0, 2},      {2, 4, 0},
    {2, 1, 5},    {9, 16, 100},  {2, 3, 33, 41}, {2500, 2, 3}, {1, 5, 2100}, {3, 2, 2, 2, 2}};

std::int64_t channels(const Shape& shape) { return shape.size() < 2 ? 1 : shape[1]; }

std::int64_t channel_of(const Shape& shape, std::int64_t weights, std::int64_t i) {
  if (weights == 1) return 0;
  for (std::size_t d = shape.size(); d-- > 2;) i /= shape[d];
  return i % shape[1];
}

std::vector<std::int64_t> weight_sizes(const Shape& shape) {
  return channels(shape) == 1 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{channels(shape), 1};
}

Dtype compute(Dtype type) { return type == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

TEST(CpuPrelu, EveryLayoutGivesTheFormula) {
  for (const assay_kernel& kernel : levels("prelu"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : kShapes)
        for (const std::int64_t weights : weight_sizes(shape))
          for (const auto& [in, out] : layout_pairs(shape)) {
            Tensor x(dtype, shape, in, Guard::before), y(dtype, shape, out);
            Tensor weight(dtype, {weights}, {Layout::Kind::strides, {in == out ? 1 : 3}});
            x.fill(Edgy(1));
            weight.fill(Edgy(2));
            call(kernel, {value(x), value(weight)}, {&y});
            for (std::int64_t i = 0; i < y.numel(); ++i) {
              const double a = x.get(i), w = weight.get(channel_of(shape, weights, i)), got = y.get(i);
              const double expected =
                  a > 0 ? a : round_to(round_to(w * a, format(compute(dtype))), format(dtype));
              ASSERT_TRUE(std::isnan(expected)
                              ? std::isnan(got)
                              : got == expected && std::signbit(got) == std::signbit(expected))
                  << kernel.name << " " << name(dtype) << "[" << text(shape) << "] " << text(in) << " "
                  << text(out) << " at " << i << ": " << a << " * " << w << " = " << got;
            }
            ASSERT_TRUE(y.gaps_untouched());
          }
}

TEST(CpuPrelu, WorksInPlace) {
  for (const assay_kernel& kernel : levels("prelu"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : kShapes)
        for (const std::int64_t weights : weight_sizes(shape))
          for (const Layout& layout : layouts(shape)) {
            Tensor x(dtype, shape, layout, Guard::before), weight(dtype, {weights}), y(dtype, shape);
            x.fill(Edgy(1));
            weight.fill(Normal(3));
            call(kernel, {value(x), value(weight)}, {&y});
            call(kernel, {value(x), value(weight)}, {&x});
            ASSERT_EQ(x.bits(), y.bits()) << kernel.name << " " << text(shape) << " " << text(layout);
          }
}

TEST(CpuPreluBackward, EveryLayoutGivesTheFormula) {
  for (const assay_kernel& kernel : levels("prelu_backward"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : kShapes)
        for (const std::int64_t weights : weight_sizes(shape)) {
          Tensor packed_grad(dtype, shape), packed_x(dtype, shape), weight(dtype, {weights});
          packed_grad.fill(Normal(4));
          packed_x.fill(Normal(5));
          weight.fill(Normal(6));
          std::vector<std::uint64_t> bits;
          for (const auto& [in, out] : layout_pairs(shape)) {
            Tensor grad(dtype, shape, out, Guard::before), x(dtype, shape, in);
            Tensor grad_x(dtype, shape, out), grad_weight(dtype, {weights}, {Layout::Kind::strides, {2}});
            grad.fill_from(packed_grad);
            x.fill_from(packed_x);
            call(kernel, {value(grad), value(x), value(weight)}, {&grad_x, &grad_weight});
            const std::string where = std::string(kernel.name) + " " + std::string(name(dtype)) + "[" +
                                      text(shape) + "] " + text(in) + " " + text(out);
            std::vector<double> sum(static_cast<std::size_t>(weights)), size(sum.size()), count(sum.size());
            for (std::int64_t i = 0; i < x.numel(); ++i) {
              const auto c = static_cast<std::size_t>(channel_of(shape, weights, i));
              const double g = grad.get(i), a = x.get(i), w = weight.get(static_cast<std::int64_t>(c));
              const double expected =
                  a > 0 ? g : round_to(round_to(w * g, format(compute(dtype))), format(dtype));
              ASSERT_EQ(grad_x.get(i), expected) << where << " at " << i;
              if (a > 0) continue;
              sum[c] += a * g;
              size[c] += std::fabs(a * g);
              ++count[c];
            }
            for (std::size_t c = 0; c < sum.size(); ++c) {
              const double bound = size[c] * count[c] * 2 * format(compute(dtype)).unit +
                                   std::fabs(sum[c]) * 2 * format(dtype).unit;
              ASSERT_NEAR(grad_weight.get(static_cast<std::int64_t>(c)), sum[c], bound)
                  << where << " channel " << c;
            }
            if (bits.empty()) bits = grad_weight.bits();
            ASSERT_EQ(grad_weight.bits(), bits) << where;
            ASSERT_TRUE(grad_x.gaps_untouched() && grad_weight.gaps_untouched()) << where;
          }
        }
}

TEST(CpuPreluBackward, ThreadsChangeNothing) {
  const int before = omp_get_max_threads();
  for (const assay_kernel& kernel : levels("prelu_backward"))
    for (const Shape& shape : {Shape{9, 16, 700}, Shape{300, 300}, Shape{7, 5, 90, 40}})
      for (const Layout& layout : layouts(shape)) {
        Tensor grad(Dtype::f32, shape, layout), x(Dtype::f32, shape, layout), weight(Dtype::f32, {shape[1]});
        Tensor grad_x(Dtype::f32, shape), grad_weight(Dtype::f32, {shape[1]});
        grad.fill(Normal(7));
        x.fill(Normal(8));
        weight.fill(Normal(9));
        std::vector<std::uint64_t> one;
        for (const int threads : kThreads) {
          omp_set_num_threads(threads);
          call(kernel, {value(grad), value(x), value(weight)}, {&grad_x, &grad_weight});
          if (threads == 1) one = grad_weight.bits();
          ASSERT_EQ(grad_weight.bits(), one) << threads << " threads " << kernel.name << " " << text(layout);
        }
      }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace assay::test
